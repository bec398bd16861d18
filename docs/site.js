// A table wider than its column scrolls by the keyboard, too.
document$.subscribe(() => document.querySelectorAll(".md-typeset__scrollwrap").forEach(part => { part.tabIndex = 0 }))

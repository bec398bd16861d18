from support.undisturbed import accounted, folder, laid, trained, undisturbed  # noqa: F401

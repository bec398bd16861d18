/* Gradients and logits of the CNN with 3x3 convolutions. */
#define KERNEL 3
#include "cnn.h"

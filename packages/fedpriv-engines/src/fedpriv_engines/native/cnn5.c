/* Gradients and logits of the CNN with 5x5 convolutions. */
#define KERNEL 5
#include "cnn.h"

#include "kernels/optimizers/row_optimizer.h"

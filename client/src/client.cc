#include "hotrow/client.h"

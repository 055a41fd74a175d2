#include "proto/wire/shard_map.h"

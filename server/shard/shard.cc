#include "server/shard/shard.h"

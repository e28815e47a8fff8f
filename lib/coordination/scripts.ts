/**
 * Counts in Redis what limited keys use: one script a reservation and one a settlement, each of which Redis runs as one step.
 *
 * Each key of the gateway has three keys in Redis, in one place of a cluster: what its buckets owe, its open calls by the end
 * of their leases, and a budget period with its spending and the amount each open call holds. The clock is that of Redis.
 * Numbers in Lua are doubles: amounts are integers below 2^53, since no budget exceeds 10^15 billionths of a dollar.
 */

import type { RedisOptions } from 'ioredis'

const lua = String.raw

const common = lua`
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  -- Not '1e+15', and not '-0'.
  local function integer (number) return string.format('%.0f', number + 0) end
  local function release (id)
    local reserved = redis.call('HGET', KEYS[3], id)
    if not reserved then return false end
    redis.call('HDEL', KEYS[3], id)
    redis.call('HINCRBY', KEYS[3], 'reserved', integer(-tonumber(reserved)))
    return true
  end
`

/** Implements `limits/bucket.ts`, whose numbers it has. */
const buckets = lua`
  local function debt_of (bucket, limit)
    local debt, at = unpack(redis.call('HMGET', KEYS[1], bucket .. '_debt', bucket .. '_at'))
    return math.max(0, (tonumber(debt) or 0) - math.max(0, now - (tonumber(at) or 0)) * limit)
  end
  local function take (bucket, limit, amount)
    local debt = math.max(0, debt_of(bucket, limit) + amount * 60000)
    redis.call('HSET', KEYS[1], bucket .. '_debt', integer(debt), bucket .. '_at', integer(now))
    redis.call('PEXPIRE', KEYS[1], math.ceil(debt / limit) + 60000)
  end
`

/** @returns reason of a refusal, wait, amount granted, remaining requests and their reset, the same of tokens, spent */
const reserve = lua`${common}${buckets}
  local id, requests, tokens, calls, budget = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
  local amount, wanted, least, recorded = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
  local admitted = ARGV[10] == '1'
  local lease_ms, lost_ms, keep_ms = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
  local spent, reserved = 0, 0

  for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - lost_ms, 'LIMIT', 0, 100)) do
    redis.call('ZREM', KEYS[2], gone)
    release(gone)
  end

  if budget > 0 then
    local known, open = unpack(redis.call('HMGET', KEYS[3], 'spent', 'reserved'))
    spent, reserved = math.max(tonumber(known) or 0, recorded), tonumber(open) or 0
    if tonumber(known) ~= spent then redis.call('HSET', KEYS[3], 'spent', integer(spent)) end
    redis.call('PEXPIRE', KEYS[3], keep_ms)
  end

  local function wait (bucket, limit, more)
    if limit == 0 then return 0 end
    return math.max(0, math.ceil((debt_of(bucket, limit) + more * 60000 - limit * 60000) / limit))
  end
  local function refusal ()
    local left = budget - spent
    if budget > 0 and (left <= 0 or least > left) then return 'budget', 0 end
    if budget > 0 and least > left - reserved then return 'budget_reserved', 1000 end
    if calls > 0 and redis.call('ZCOUNT', KEYS[2], now, '+inf') >= calls then return 'concurrent_calls', 1000 end
    local for_requests, for_tokens = wait('requests', requests, 1), wait('tokens', tokens, amount)
    if for_requests == 0 and for_tokens == 0 then return '', 0 end
    if for_requests >= for_tokens then return 'requests', for_requests end
    return 'tokens', for_tokens
  end
  local reason, wait_ms = '', 0
  if not admitted then reason, wait_ms = refusal() end

  local granted = wanted
  if reason == '' then
    if requests > 0 then take('requests', requests, 1) end
    if tokens > 0 then take('tokens', tokens, amount) end
    if budget > 0 then
      granted = math.max(least, math.min(wanted, budget - spent - reserved))
      redis.call('HSET', KEYS[3], id, integer(granted))
      redis.call('HINCRBY', KEYS[3], 'reserved', integer(granted))
    end
    if not admitted and (calls > 0 or budget > 0) then
      redis.call('ZADD', KEYS[2], now + lease_ms, id)
      redis.call('PEXPIRE', KEYS[2], lease_ms + lost_ms)
    end
  end

  local function status (bucket, limit)
    if limit == 0 then return 0, 0 end
    local debt = debt_of(bucket, limit)
    return math.max(0, math.floor(limit - debt / 60000)), math.ceil(debt / limit)
  end
  local requests_left, requests_reset = status('requests', requests)
  local tokens_left, tokens_reset = status('tokens', tokens)
  return { reason, wait_ms, granted, requests_left, requests_reset, tokens_left, tokens_reset, spent }
`

/** Counts the usage of a call whose reservation is there, and nothing when it has been settled before. */
const settle = lua`${common}${buckets}
  local id, requests, tokens = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
  local more_requests, more_tokens, spent, leased = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7] == '1'
  local was_open = redis.call('ZREM', KEYS[2], id) == 1
  local was_reserved = release(id)
  if was_reserved then redis.call('HINCRBY', KEYS[3], 'spent', spent) end
  if leased and not was_open and not was_reserved then return 0 end
  if requests > 0 and more_requests ~= 0 then take('requests', requests, more_requests) end
  if tokens > 0 and more_tokens ~= 0 then take('tokens', tokens, more_tokens) end
  return 1
`

/** Extends the leases of open calls of one key and period, and makes those that Redis does not know. */
const renew = lua`${common}
  local lease_ms, lost_ms, keep_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
  for i = 4, #ARGV, 2 do
    local id, reserved = ARGV[i], ARGV[i + 1]
    redis.call('ZADD', KEYS[2], now + lease_ms, id)
    if reserved ~= '' and redis.call('HSETNX', KEYS[3], id, reserved) == 1 then
      redis.call('HINCRBY', KEYS[3], 'reserved', reserved)
      redis.call('PEXPIRE', KEYS[3], keep_ms)
    end
  end
  redis.call('PEXPIRE', KEYS[2], lease_ms + lost_ms)
`

/** Shows a process to the others, and to its own connection for messages. @returns now, and how many processes there are */
const beat = lua`${common}
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[2]))
  redis.call('PUBLISH', ARGV[3], '')
  return { now, redis.call('ZCARD', KEYS[1]) }
`

/** Shows what cools down in a process to the others: those that listen, and those that look later. */
const cooldown = lua`${common}
  local member, for_ms, failing_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  if for_ms > 0 then redis.call('ZADD', KEYS[1], now + for_ms, member) else redis.call('ZREM', KEYS[1], member) end
  redis.call('PUBLISH', KEYS[1], integer(for_ms) .. ' ' .. integer(failing_ms) .. ' ' .. member)
`

export const scripts = {
  hgReserve: { numberOfKeys: 3, lua: reserve },
  hgSettle: { numberOfKeys: 3, lua: settle },
  hgRenew: { numberOfKeys: 3, lua: renew },
  hgBeat: { numberOfKeys: 1, lua: beat },
  hgCooldown: { numberOfKeys: 1, lua: cooldown }
} satisfies RedisOptions['scripts']

export type ScriptName = keyof typeof scripts

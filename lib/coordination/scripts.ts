/**
 * Counts in Redis what limited keys use: one script for all that a turn of a process's loop reserves and settles, which Redis runs
 * as one step.
 *
 * Each key of the gateway has four keys in Redis, in one place of a cluster: what its buckets owe, its open calls by the end
 * of their leases, a budget period with its spending and the amount each open call holds, and the ends of the leases of those amounts.
 * Those stay as long as the amounts: a key may have no call until long after its leases are lost, and calls of another period or
 * without a budget do not know the amounts. The clock is that of Redis.
 * Numbers in Lua are doubles: amounts are integers below 2^53, since no budget exceeds 10^15 billionths of a dollar.
 */

import { recordedAfterMs } from '../limits/refunds.ts'
import type { RedisOptions } from 'ioredis'

const lua = String.raw
const refundMs = recordedAfterMs.toString()

const clock = lua`
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  -- Not '1e+15', and not '-0'.
  local function integer (number) return string.format('%.0f', number + 0) end
`

/** Implements `limits/bucket.ts`, whose numbers it has. */
const buckets = lua`
  local function debt_of (bucket, limit)
    return math.max(0, bucket.debt - math.max(0, now - bucket.at) * limit)
  end
  local function wait (bucket, limit, more)
    if limit == 0 then return 0 end
    return math.max(0, math.ceil((debt_of(bucket, limit) + more * 60000 - limit * 60000) / limit))
  end
  local function status (bucket, limit)
    if limit == 0 then return 0, 0 end
    local debt = debt_of(bucket, limit)
    return math.max(0, math.floor(limit - debt / 60000)), math.ceil(debt / limit)
  end
`

/**
 * Runs one after the other what a turn of a process's loop has to reserve and to settle: a list for each key of the gateway.
 * What a list changes is read once and written once.
 *
 * The reply to a reservation is a list: reason of a refusal, wait, amount granted, remaining requests and their reset, the same of
 * tokens, spent. A settlement counts the usage of a call whose reservation is there, and nothing when
 * it has been settled before.
 */
const count = lua`${clock}${buckets}
  local lease_ms, lost_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
  local lists = cjson.decode(ARGV[3])

  local function run (operations, rates_key, open_key, budget_key, leases_key)
    local rates, budget, keep_ms, has_opened
    local function take (bucket, limit, amount)
      bucket.debt, bucket.at = math.max(0, debt_of(bucket, limit) + amount * 60000), now
      bucket.full_ms = math.ceil(bucket.debt / limit)
      rates.changed = true
    end
    local function read_rates ()
      if rates then return end
      local requests, requests_at, tokens, tokens_at = unpack(redis.call('HMGET', rates_key, 'requests_debt', 'requests_at', 'tokens_debt', 'tokens_at'))
      rates = {
        requests = { debt = tonumber(requests) or 0, at = tonumber(requests_at) or 0, full_ms = 0 },
        tokens = { debt = tonumber(tokens) or 0, at = tonumber(tokens_at) or 0, full_ms = 0 }
      }
    end
    local function read_budget ()
      if budget then return end
      local spent, reserved, refunded, refunded_before, refunds_at = unpack(
        redis.call('HMGET', budget_key, 'spent', 'reserved', 'refunded', 'refunded_before', 'refunds_at'))
      budget = { spent = tonumber(spent) or 0, reserved = tonumber(reserved) or 0 }
      budget.refunded, budget.refunded_before, budget.refunds_at = tonumber(refunded) or 0, tonumber(refunded_before) or 0, tonumber(refunds_at) or 0
    end
    -- As limits/refunds.ts has it.
    local function unrecorded_refunds ()
      local age = now - budget.refunds_at
      if age >= 2 * ${refundMs} then return 0 end
      if age >= ${refundMs} then return budget.refunded end
      return budget.refunded + budget.refunded_before
    end
    local function add_refund (amount)
      local age = now - budget.refunds_at
      if age >= ${refundMs} then
        budget.refunded, budget.refunded_before, budget.refunds_at = 0, age < 2 * ${refundMs} and budget.refunded or 0, now
      end
      budget.refunded = budget.refunded + amount
      redis.call('HSET', budget_key, 'refunded', integer(budget.refunded), 'refunded_before', integer(budget.refunded_before), 'refunds_at', integer(budget.refunds_at))
    end
    local function release (id)
      if redis.call('ZREM', leases_key, id) == 0 then return false end
      local amount = redis.call('HGET', budget_key, id)
      if not amount then return false end
      read_budget()
      redis.call('HDEL', budget_key, id)
      budget.reserved, budget.changed = budget.reserved - amount, true
      return true
    end

    local function reserve (id, requests, tokens, calls, most, amount, wanted, least, recorded, admitted, kept_ms)
      if requests > 0 or tokens > 0 then read_rates() end
      if most > 0 then
        read_budget()
        local known = recorded - unrecorded_refunds()
        if known > budget.spent then budget.spent, budget.changed = known, true end
        keep_ms = kept_ms
      end
      local function refusal ()
        local left = most > 0 and most - budget.spent
        if left and left <= 0 then return 'budget', 0 end
        if left and least > left then return 'budget_too_small', 0 end
        if left and least > left - budget.reserved then return 'budget_reserved', 1000 end
        if calls > 0 and redis.call('ZCOUNT', open_key, now, '+inf') >= calls then return 'concurrent_calls', 1000 end
        local for_requests, for_tokens = wait(rates and rates.requests, requests, 1), wait(rates and rates.tokens, tokens, amount)
        if for_requests == 0 and for_tokens == 0 then return '', 0 end
        if for_requests >= for_tokens then return 'requests', for_requests end
        return 'tokens', for_tokens
      end
      local reason, wait_ms = '', 0
      if not admitted then reason, wait_ms = refusal() end

      local granted = wanted
      if reason == '' then
        if requests > 0 then take(rates.requests, requests, 1) end
        if tokens > 0 then take(rates.tokens, tokens, amount) end
        if most > 0 then
          granted = math.max(least, math.min(wanted, most - budget.spent - budget.reserved))
          redis.call('HSET', budget_key, id, integer(granted))
          redis.call('ZADD', leases_key, now + lease_ms, id)
          budget.reserved, budget.changed = budget.reserved + granted, true
        end
        if not admitted and (calls > 0 or most > 0) then
          redis.call('ZADD', open_key, now + lease_ms, id)
          has_opened = true
        end
      end
      local requests_left, requests_reset = status(rates and rates.requests, requests)
      local tokens_left, tokens_reset = status(rates and rates.tokens, tokens)
      return { reason, wait_ms, granted, requests_left, requests_reset, tokens_left, tokens_reset, most > 0 and budget.spent or 0 }
    end

    local function settle (id, requests, tokens, more_requests, more_tokens, spent, leased)
      local was_open = leased and redis.call('ZREM', open_key, id) == 1
      local was_reserved = leased and release(id)
      if was_reserved then budget.spent = budget.spent + spent end
      if was_reserved and spent < 0 then add_refund(-spent) end
      if leased and not was_open and not was_reserved then return end
      if requests > 0 and more_requests ~= 0 then read_rates() take(rates.requests, requests, more_requests) end
      if tokens > 0 and more_tokens ~= 0 then read_rates() take(rates.tokens, tokens, more_tokens) end
    end

    -- Releases what a process that has exited held.
    local function forget (holder)
      for _, key in ipairs({ open_key, leases_key }) do
        for _, id in ipairs(redis.call('ZRANGE', key, 0, -1)) do
          if string.sub(id, 1, #holder + 1) == holder .. '-' and not (key == leases_key and release(id)) then redis.call('ZREM', key, id) end
        end
      end
    end

    redis.call('ZREMRANGEBYSCORE', open_key, '-inf', now - lost_ms)
    for _, gone in ipairs(redis.call('ZRANGEBYSCORE', leases_key, '-inf', now - lost_ms, 'LIMIT', 0, 100)) do release(gone) end
    local replies = {}
    for i, operation in ipairs(operations) do
      if operation[1] == 'settle' then
        settle(unpack(operation, 2))
        replies[i] = 0
      elseif operation[1] == 'forget' then
        forget(operation[2])
        replies[i] = 0
      else replies[i] = reserve(unpack(operation, 2)) end
    end
    if rates and rates.changed then
      redis.call('HSET', rates_key, 'requests_debt', integer(rates.requests.debt), 'requests_at', integer(rates.requests.at),
        'tokens_debt', integer(rates.tokens.debt), 'tokens_at', integer(rates.tokens.at))
      redis.call('PEXPIRE', rates_key, math.max(rates.requests.full_ms, rates.tokens.full_ms) + 60000)
    end
    if budget and budget.changed then redis.call('HSET', budget_key, 'spent', integer(budget.spent), 'reserved', integer(budget.reserved)) end
    if keep_ms then
      redis.call('PEXPIRE', budget_key, keep_ms)
      redis.call('PEXPIRE', leases_key, keep_ms)
    end
    if has_opened then redis.call('PEXPIRE', open_key, lease_ms + lost_ms) end
    return replies
  end

  local all = {}
  for i, operations in ipairs(lists) do all[i] = run(operations, KEYS[4 * i - 3], KEYS[4 * i - 2], KEYS[4 * i - 1], KEYS[4 * i]) end
  return all
`

/** Extends the leases of open calls of one key and period, and makes those that Redis does not know. */
const renew = lua`${clock}
  local lease_ms, lost_ms, keep_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
  for i = 4, #ARGV, 2 do
    local id, reserved = ARGV[i], ARGV[i + 1]
    redis.call('ZADD', KEYS[2], now + lease_ms, id)
    if reserved ~= '' then
      redis.call('ZADD', KEYS[4], now + lease_ms, id)
      if redis.call('HSETNX', KEYS[3], id, reserved) == 1 then redis.call('HINCRBY', KEYS[3], 'reserved', reserved) end
    end
  end
  redis.call('PEXPIRE', KEYS[2], lease_ms + lost_ms)
  for key = 3, 4 do redis.call('PEXPIRE', KEYS[key], keep_ms) end
`

/**
 * Shows a process to the others, and to its own connection for messages. One that is silent for longer than ARGV[2] counts no more; its name
 * stays for ARGV[3], so that another one of its machine can see that it has exited.
 *
 * @returns now, how many processes there are, and the names of all
 */
const beat = lua`${clock}
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[3]))
  redis.call('PUBLISH', ARGV[4], '')
  return { now, redis.call('ZCOUNT', KEYS[1], '(' .. now - tonumber(ARGV[2]), '+inf'), redis.call('ZRANGE', KEYS[1], 0, -1) }
`

/** Shows the others that a process has exited and that its usage records are stored: what it held may be released. */
const exited = lua`${clock}
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[2]))
  redis.call('ZADD', KEYS[1], 'NX', now, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
`

/** Shows what cools down in a process to the others: those that listen, and those that look later. */
const cooldown = lua`${clock}
  local member, for_ms, failing_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  if for_ms > 0 then redis.call('ZADD', KEYS[1], now + for_ms, member) else redis.call('ZREM', KEYS[1], member) end
  redis.call('PUBLISH', KEYS[1], integer(for_ms) .. ' ' .. integer(failing_ms) .. ' ' .. member)
`

/** Called with the number of their keys first. */
export const scripts = {
  hgCount: { lua: count },
  hgRenew: { lua: renew },
  hgBeat: { lua: beat },
  hgCooldown: { lua: cooldown },
  hgExited: { lua: exited }
} satisfies RedisOptions['scripts']

export type ScriptName = keyof typeof scripts

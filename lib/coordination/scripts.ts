/**
 * Counts in Redis what limited keys use: one script for all that one tick of a process reserves and settles,
 * which Redis runs as one step.
 *
 * Each party, such as a key of the gateway, has these keys in Redis, in one slot of a cluster:
 * - what its buckets owe
 * - its open calls, by the end of their leases
 * - for each sum and period: what was used, and the amount that each open call holds
 * - the ends of the leases of those amounts, kept as long as the amounts: a party may have no call until long
 *   after its leases are lost, and calls of another period or without a sum do not know the amounts
 *
 * The clock is that of Redis. Numbers in Lua are doubles: amounts are integers below 2^53, as no budget
 * exceeds 10^15 billionths of a dollar.
 */

import { recordedAfterMs } from '../usage/refunds.ts'
import type { RedisOptions } from 'ioredis'

const lua = String.raw
const refundMs = recordedAfterMs.toString()

const clock = lua`
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  -- Not '1e+15', and not '-0'.
  local function integer (number) return string.format('%.0f', number + 0) end
`

/** Implements the token buckets of `limits/rate-counters` with the same numbers. */
const buckets = lua`
  local function debt_of (bucket, limit)
    return math.max(0, bucket.debt - math.max(0, now - bucket.at) * limit)
  end
  local function wait (bucket, limit, more)
    return math.max(0, math.ceil((debt_of(bucket, limit) + more * 60000 - limit * 60000) / limit))
  end
  local function status (bucket, limit)
    local debt = debt_of(bucket, limit)
    return math.max(0, math.floor(limit - debt / 60000)), math.ceil(debt / limit)
  end
`

/**
 * Runs one after the other what one tick of a process has to reserve and to settle: a list for each party,
 * whose keys are those of its rates and its open calls, and then two for each sum: what is known of it, and
 * the ends of the leases of what calls hold. What a list changes is read once and written once. Operations
 * are objects of `limits/redis-counters`, which has their types.
 *
 * The reply is JSON: for each list, for each operation, what it returns; amounts are texts, as numbers would
 * be rounded. A settlement counts the usage of a call whose reservation is there, and nothing when it has
 * been settled before.
 */
const count = lua`${clock}${buckets}
  local lease_ms, lost_ms = tonumber(ARGV[1]), tonumber(ARGV[2])

  local function run (operations, keys)
    local rates_key, open_key = keys[1], keys[2]
    local rates, sums, has_opened = {}, {}, false

    local function rate_of (unit)
      if not rates[unit] then
        local debt, at = unpack(redis.call('HMGET', rates_key, unit .. '_debt', unit .. '_at'))
        rates[unit] = { debt = tonumber(debt) or 0, at = tonumber(at) or 0, full_ms = 0 }
      end
      return rates[unit]
    end
    local function take (unit, limit, amount)
      local bucket = rate_of(unit)
      bucket.debt, bucket.at = math.max(0, debt_of(bucket, limit) + amount * 60000), now
      bucket.full_ms = math.ceil(bucket.debt / limit)
      bucket.changed = true
    end

    local function sum_of (place)
      local key, leases_key = keys[place], keys[place + 1]
      if not sums[key] then
        local used, reserved, refunded, refunded_before, refunds_at = unpack(
          redis.call('HMGET', key, 'spent', 'reserved', 'refunded', 'refunded_before', 'refunds_at'))
        local sum = { key = key, leases_key = leases_key, used = tonumber(used) or 0, reserved = tonumber(reserved) or 0 }
        sum.refunded, sum.refunded_before, sum.refunds_at = tonumber(refunded) or 0, tonumber(refunded_before) or 0, tonumber(refunds_at) or 0
        sums[key] = sum
      end
      return sums[key]
    end
    -- As usage/refunds.ts has it.
    local function unrecorded_refunds (sum)
      local age = now - sum.refunds_at
      if age >= 2 * ${refundMs} then return 0 end
      if age >= ${refundMs} then return sum.refunded end
      return sum.refunded + sum.refunded_before
    end
    local function add_refund (sum, amount)
      local age = now - sum.refunds_at
      if age >= ${refundMs} then
        sum.refunded, sum.refunded_before, sum.refunds_at = 0, age < 2 * ${refundMs} and sum.refunded or 0, now
      end
      sum.refunded = sum.refunded + amount
      redis.call('HSET', sum.key, 'refunded', integer(sum.refunded), 'refunded_before', integer(sum.refunded_before), 'refunds_at', integer(sum.refunds_at))
    end
    local function release (sum, id)
      if redis.call('ZREM', sum.leases_key, id) == 0 then return false end
      local amount = redis.call('HGET', sum.key, id)
      if not amount then return false end
      redis.call('HDEL', sum.key, id)
      sum.reserved, sum.changed = sum.reserved - amount, true
      return true
    end
    -- Replaces what a call holds with what it used.
    local function use (sum, id, used)
      if not release(sum, id) then return false end
      sum.used = sum.used + used
      if used < 0 then add_refund(sum, -used) end
      return true
    end
    local function hold (sum, id, amount)
      redis.call('HSET', sum.key, id, integer(amount))
      redis.call('ZADD', sum.leases_key, now + lease_ms, id)
      sum.reserved, sum.changed = sum.reserved + amount, true
    end
    local function open (id)
      redis.call('ZADD', open_key, now + lease_ms, id)
      has_opened = true
    end

    -- How an account of each kind refuses a reservation: why, and when to try again.
    local refuse = {
      sum = function (account)
        local sum = sum_of(account.place)
        local left = account.amount - sum.used
        if left <= 0 then return 'exhausted', 0 end
        if account.min > left then return 'too_small', 0 end
        if account.min > left - sum.reserved then return 'reserved', 1000 end
      end,
      open = function (account)
        if redis.call('ZCOUNT', open_key, now, '+inf') >= account.amount then return 'open', 1000 end
      end,
      rate = function (account)
        local wait_ms = wait(rate_of(account.unit), account.amount, account.takes)
        if wait_ms > 0 then return 'rate', wait_ms end
      end
    }
    local function refusal_of (accounts)
      local longest
      for _, counting in ipairs({ 'sum', 'open', 'rate' }) do
        for index, account in ipairs(accounts) do
          if account.counting == counting then
            local reason, wait_ms = refuse[counting](account)
            if reason and counting ~= 'rate' then return { account = index - 1, reason = reason, wait_ms = wait_ms } end
            if reason and (not longest or wait_ms > longest.wait_ms) then longest = { account = index - 1, reason = reason, wait_ms = wait_ms } end
          end
        end
      end
      return longest
    end

    local function reserve (operation)
      local accounts = operation.accounts
      local granted = {}
      for _, account in ipairs(accounts) do
        if account.counting == 'sum' then
          local sum = sum_of(account.place)
          local known = account.recorded - unrecorded_refunds(sum)
          if known > sum.used then sum.used, sum.changed = known, true end
          sum.keep_ms = account.keep_ms
          if account.strict then
            local left = math.max(account.min, math.min(account.max, account.amount - sum.used - sum.reserved))
            granted[account.unit] = math.min(granted[account.unit] or left, left)
          end
        end
      end
      local refusal = operation.purpose == 'admit' and refusal_of(accounts) or nil
      local is_leased = false
      local results = {}
      for index, account in ipairs(accounts) do
        local result = {}
        if not refusal and operation.purpose ~= 'describe' then
          if account.counting == 'rate' then take(account.unit, account.amount, account.takes) end
          if account.counting == 'sum' then hold(sum_of(account.place), operation.id, account.strict and granted[account.unit] or account.max) end
          if account.counting ~= 'rate' then is_leased = true end
        end
        if account.counting == 'rate' then result.remaining, result.reset_ms = status(rate_of(account.unit), account.amount) end
        if account.counting == 'sum' then result.used = integer(sum_of(account.place).used) end
        if account.strict then result.granted = integer(granted[account.unit]) end
        result.counting = account.counting
        results[index] = result
      end
      if is_leased and operation.purpose == 'admit' then open(operation.id) end
      return { refusal = refusal, accounts = results }
    end

    local function settle (operation)
      local was_open = operation.leased and redis.call('ZREM', open_key, operation.id) == 1
      local was_reserved = false
      for _, account in ipairs(operation.accounts) do
        if account.counting == 'sum' then
          local sum = sum_of(account.place)
          if use(sum, operation.id, account.used) then was_reserved = true end
        end
      end
      if operation.leased and not was_open and not was_reserved then return false end
      for _, account in ipairs(operation.accounts) do
        if account.counting == 'rate' and account.takes ~= 0 then take(account.unit, account.amount, account.takes) end
      end
      return true
    end

    -- Extends the leases of an open call, and makes those that Redis does not know.
    local function renew (operation)
      if operation.purpose == 'admit' then open(operation.id) end
      for _, account in ipairs(operation.accounts) do
        if account.counting == 'sum' then
          local sum = sum_of(account.place)
          sum.keep_ms = account.keep_ms
          redis.call('ZADD', sum.leases_key, now + lease_ms, operation.id)
          if redis.call('HEXISTS', sum.key, operation.id) == 0 then hold(sum, operation.id, account.amount) end
        end
      end
      return true
    end

    -- Settles what is held for calls whose usage records have these ids, which their reservations end with.
    local function record (operation)
      for _, account in ipairs(operation.accounts) do
        local sum = sum_of(account.place)
        for _, id in ipairs(redis.call('ZRANGE', sum.leases_key, 0, -1)) do
          local used = account.recorded[string.match(id, '(............%-%w+)$')]
          if used then use(sum, id, used) end
        end
      end
      return true
    end

    -- Releases what a process that has exited held.
    local function forget (operation)
      local prefix = operation.id .. '-'
      for _, id in ipairs(redis.call('ZRANGE', open_key, 0, -1)) do
        if string.sub(id, 1, #prefix) == prefix then redis.call('ZREM', open_key, id) end
      end
      for place = 3, #keys, 2 do
        local sum = sum_of(place)
        for _, id in ipairs(redis.call('ZRANGE', sum.leases_key, 0, -1)) do
          if string.sub(id, 1, #prefix) == prefix then release(sum, id) end
        end
      end
      return true
    end

    local run_operation = { reserve = reserve, settle = settle, renew = renew, record = record, forget = forget }
    redis.call('ZREMRANGEBYSCORE', open_key, '-inf', now - lost_ms)
    for place = 3, #keys, 2 do
      local sum = sum_of(place)
      for _, gone in ipairs(redis.call('ZRANGEBYSCORE', sum.leases_key, '-inf', now - lost_ms, 'LIMIT', 0, 100)) do release(sum, gone) end
    end
    local replies = {}
    for index, operation in ipairs(operations) do replies[index] = run_operation[operation.kind](operation) end

    local full_ms
    for unit, bucket in pairs(rates) do
      if bucket.changed then
        redis.call('HSET', rates_key, unit .. '_debt', integer(bucket.debt), unit .. '_at', integer(bucket.at))
        full_ms = math.max(full_ms or 0, bucket.full_ms)
      end
    end
    if full_ms and redis.call('PTTL', rates_key) < full_ms + 60000 then redis.call('PEXPIRE', rates_key, integer(full_ms + 60000)) end
    for key, sum in pairs(sums) do
      if sum.changed then redis.call('HSET', key, 'spent', integer(sum.used), 'reserved', integer(sum.reserved)) end
      if sum.keep_ms then
        redis.call('PEXPIRE', key, integer(sum.keep_ms))
        redis.call('PEXPIRE', sum.leases_key, integer(sum.keep_ms))
      end
    end
    if has_opened then redis.call('PEXPIRE', open_key, integer(lease_ms + lost_ms)) end
    return replies
  end

  local all = {}
  local next_key = 1
  for index, list in ipairs(cjson.decode(ARGV[3])) do
    local keys = {}
    for place = 1, list.keys do keys[place] = KEYS[next_key + place - 1] end
    next_key = next_key + list.keys
    all[index] = run(list.operations, keys)
  end
  return cjson.encode(all)
`

/**
 * Shows a process to the others, and to its own connection for messages. One that is silent for longer than
 * ARGV[2] counts no more; its name stays for ARGV[3], so that another one of its machine can see that it has
 * exited.
 *
 * @returns now, how many processes there are, and the names of all
 */
const beat = lua`${clock}
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[3]))
  redis.call('PUBLISH', ARGV[4], '')
  return { now, redis.call('ZCOUNT', KEYS[1], '(' .. now - tonumber(ARGV[2]), '+inf'), redis.call('ZRANGE', KEYS[1], 0, -1) }
`

/** Marks a process as exited with all usage rows stored: its reservations may be released. */
const exited = lua`${clock}
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[2]))
  redis.call('ZADD', KEYS[1], 'NX', now, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
`

/** Reports a cooldown of a process to the others: those that listen now, and those that read it later. */
const cooldown = lua`${clock}
  local member, for_ms, failing_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  if for_ms > 0 then redis.call('ZADD', KEYS[1], now + for_ms, member) else redis.call('ZREM', KEYS[1], member) end
  redis.call('PUBLISH', KEYS[1], integer(for_ms) .. ' ' .. integer(failing_ms) .. ' ' .. member)
`

/** Called with the number of their keys first. */
export const scripts = {
  hgCount: { lua: count },
  hgBeat: { lua: beat },
  hgCooldown: { lua: cooldown },
  hgExited: { lua: exited }
} satisfies RedisOptions['scripts']

export type ScriptName = keyof typeof scripts

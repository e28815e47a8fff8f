/**
 * Opens what gateways on several machines share besides the store: limits, cooldowns, and notices of changed
 * keys and waiting tasks.
 */

import { RedisServer, type RedisServerOptions } from '../coordination/redis-server.ts'
import { RedisLimiter, type RedisLimiterOptions } from '../limits/redis-limiter.ts'
import { SharedAnswers } from '../coordination/shared-answers.ts'
import { CooldownExchange } from '../coordination/cooldown-exchange.ts'
import { parseRedisAddress } from '../coordination/redis-address.ts'
import { describeError, loggableError } from '../text/describe-error.ts'
import { processName, processState, worksIn } from '../async/process-name.ts'
import { hasAbandonedJournal } from '../usage/journal-name.ts'
import { readUsedFrom, spendingOutage } from '../limits/limiter.ts'
import type { RedisLocation } from '../coordination/connect-redis.ts'
import type { Secret } from '../core/secret.ts'
import type { Settings } from '../core/settings.ts'
import type { Limiter } from '../limits/limiter.ts'
import { createDirectory } from '../stores/sqlite/database-file.ts'
import type { Database } from '../stores/database.ts'
import type { Log } from '../log/log.ts'
import type { GatewayCoordination } from '../gateway.ts'
import { CommandError } from './terminal.ts'

export interface Coordination extends GatewayCoordination {
  readonly limiter: Limiter
  /** Notifies all processes that keys were changed. */
  readonly notifyOfKeys: () => void
  /** Calls back when another process may have changed keys. */
  readonly onKeyChange: (listener: () => void) => void
  readonly close: () => Promise<void>
}

export interface CoordinationDeps extends Pick<RedisLimiterOptions, 'without'> {
  readonly usageDatabase: Database
  readonly log: Log
}

const keysTopic = 'headgate:keys'
const tasksTopic = 'headgate:tasks'

/**
 * Connects to Redis if the configuration names one; a start does not need Redis to be available.
 *
 * @throws CommandError if the address is not one of Redis, the file of its certificate authority cannot be
 *   read, or the data directory cannot be created
 */
export async function openCoordination (
  { coordination: settings }: Pick<Settings, 'coordination'>,
  { usageDatabase, log, without }: CoordinationDeps
): Promise<Coordination | undefined> {
  if (settings.url === undefined) return undefined
  const { directory } = usageDatabase
  // Its own name says which directory it has; with PostgreSQL nothing has needed the directory so far.
  createDataDirectory(directory)
  // For a process with another directory, this one cannot know whether its usage rows are stored.
  const isGone = (name: string): boolean =>
    processState(name) === 'exited' && worksIn(name, directory) && !hasAbandonedJournal(directory)
  const server = await connect(locationOf(settings, settings.url), {
    timeoutMs: settings.timeoutMs,
    id: processName(directory),
    isGone
  })
  const outage = spendingOutage(log, {
    begin: 'failed to read past spending; budgets count what Redis knows',
    end: 'past spending can be read again'
  })
  const limiter = new RedisLimiter(server, {
    without,
    readUsed: readUsedFrom(usageDatabase),
    onFailure: outage.failed,
    onSuccess: outage.succeeded
  })
  server.on('unreachable', cause =>
    log.warn({ cause: loggableError(cause) }, 'Redis cannot be reached; limits are decided without it')
  )
  server.on('reachable', () => log.info('Redis is reachable again; limits are shared between gateways'))
  server.on('subscriptionLost', cause =>
    log.warn({ cause: loggableError(cause) }, 'failed to subscribe to messages in Redis; polling for changes of keys')
  )
  if (!server.isUp) {
    log.warn(
      { cause: loggableError(server.failure) },
      'Redis cannot be reached; limits are decided without it'
    )
  }
  return {
    limiter,
    cooldowns: new CooldownExchange(server),
    answers: new SharedAnswers(server),
    notifyOfKeys: () => server.publish(keysTopic, ''),
    onKeyChange: listener => server.subscribe(keysTopic, listener),
    notifyOfTasks: () => server.publish(tasksTopic, ''),
    onTasks: listener => server.subscribe(tasksTopic, listener),
    load: () => ({ isUnreachable: !server.isUp, decidedAlone: limiter.decidedAlone, commands: server.times }),
    close: async () => {
      limiter.close()
      await server.close()
    }
  }
}

function createDataDirectory (directory: string): void {
  try {
    createDirectory(directory)
  } catch (error) {
    throw new CommandError(`The data directory cannot be created: ${describeError(error)}.`)
  }
}

/**
 * Reads the location of Redis.
 *
 * @throws CommandError if the address is not one of Redis, or names several servers that are neither
 *   Sentinels nor a cluster
 */
function locationOf (
  { sentinel, sentinelPassword, cluster }: Settings['coordination'],
  url: Secret
): RedisLocation {
  const address = parseRedisAddress(url.reveal(), sentinel === undefined ? 6379 : 26379)
  if (address === undefined) {
    throw new CommandError('`coordination.url` is not an address such as redis://user:password@host:6379.')
  }
  if (address.hosts.length > 1 && sentinel === undefined && !cluster) {
    throw new CommandError(
      '`coordination.url` names several servers: set `coordination.sentinel` or `coordination.cluster`.'
    )
  }
  return { address, sentinel, sentinelPassword, isCluster: cluster }
}

/**
 * Deletes the answers in the configured Redis.
 *
 * @returns how many there were
 * @throws CommandError without Redis, or if it does not reply
 */
export async function clearAnswers (
  { coordination: settings }: Pick<Settings, 'coordination'>
): Promise<number> {
  if (settings.url === undefined) {
    throw new CommandError(
      'Without `coordination.url`, answers are in the memory of each process: they are dropped when its configuration is reloaded.'
    )
  }
  return await useRedis(settings, settings.url, async server => await new SharedAnswers(server).clear())
}

/** @throws CommandError if the configured Redis does not reply */
export async function checkRedis ({ coordination: settings }: Pick<Settings, 'coordination'>): Promise<void> {
  if (settings.url !== undefined) await useRedis(settings, settings.url, async () => {})
}

/**
 * Runs the work of a command with Redis.
 *
 * @throws CommandError if it does not reply
 */
async function useRedis<T> (
  settings: Settings['coordination'],
  url: Secret,
  work: (server: RedisServer) => Promise<T>
): Promise<T> {
  const server = await connect(locationOf(settings, url), {
    timeoutMs: settings.timeoutMs,
    id: processName(),
    isGone: () => false
  })
  try {
    if (!server.isUp) {
      const reason = server.failure === undefined ? 'no reply in time' : describeError(server.failure)
      throw new CommandError(`Redis cannot be reached: ${reason}.`)
    }
    return await work(server)
  } finally {
    await server.close()
  }
}

async function connect (
  location: RedisLocation,
  options: Pick<RedisServerOptions, 'timeoutMs' | 'id' | 'isGone'>
): Promise<RedisServer> {
  try {
    return await RedisServer.connect({ ...location, ...options })
  } catch (error) {
    throw new CommandError(`\`sslrootcert\` of \`coordination.url\`: ${describeError(error)}.`)
  }
}

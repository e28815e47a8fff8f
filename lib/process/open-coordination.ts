/** Opens what gateways on several machines share besides the store: limits, and which keys were changed. */

import { RedisLimiter, type RedisLimiterOptions } from '../limits/redis-limiter.ts'
import { loggableError } from '../text/describe-error.ts'
import { spendingOf } from '../usage/spending.ts'
import type { Settings } from '../core/settings.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Database } from '../stores/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { CoordinationLoad } from '../telemetry/metrics.ts'
import { CommandError } from './terminal.ts'

export interface Coordination {
  readonly limiter: Limiter
  /** Notifies all processes that keys were changed. */
  readonly notifyOfKeys: () => void
  /** Calls back when another process may have changed keys. */
  readonly onKeyChange: (listener: () => void) => void
  readonly load: () => CoordinationLoad
  readonly close: () => Promise<void>
}

interface CoordinationParts extends Pick<RedisLimiterOptions, 'without'> {
  readonly usageDatabase: Database
  readonly log: Log
}

const keysTopic = 'headgate:keys'

/**
 * Connects to Redis where the configuration names one; a Redis that is away is no reason not to start.
 *
 * @throws CommandError when the address is none of Redis
 */
export async function openCoordination (
  { coordination: { url, timeoutMs } }: Pick<Settings, 'coordination'>, { usageDatabase, log, without }: CoordinationParts
): Promise<Coordination | undefined> {
  if (url === undefined) return undefined
  if (!/^rediss?:\/\//.test(url.reveal()) || !URL.canParse(url.reveal())) {
    throw new CommandError('`coordination.url` is not an address such as redis://user:password@host:6379.')
  }
  const { RedisServer } = await import('../coordination/redis-server.ts')
  const server = await RedisServer.connect({ url, timeoutMs })
  const limiter = new RedisLimiter(server, {
    without,
    readSpending: async (...stretch) => await spendingOf(usageDatabase.query, ...stretch),
    onFailure: error => log.error({ cause: loggableError(error) }, 'failed to read past spending; budgets count what Redis knows')
  })
  server.on('away', cause => log.warn({ cause: loggableError(cause) }, 'redis is away; deciding on limits without it'))
  server.on('back', () => log.info('redis is back; counting limits together'))
  if (!server.isUp) log.warn('redis cannot be reached; deciding on limits without it')
  return {
    limiter,
    notifyOfKeys: () => server.publish(keysTopic, ''),
    onKeyChange: listener => server.subscribe(keysTopic, listener),
    load: () => ({ isAway: !server.isUp, decidedAlone: limiter.decidedAlone }),
    close: async () => {
      limiter.close()
      await server.close()
    }
  }
}

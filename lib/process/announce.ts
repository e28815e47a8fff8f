/** Prints that the gateway is ready. */

import { isDashboardServed } from '../dashboard/is-served.ts'
import type { Address } from '../http/listen.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { Settings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'
import { banner, keyNotice } from './banner.ts'
import type { Terminal } from './terminal.ts'

export interface Ready {
  readonly address: Address
  readonly settings: Settings
  readonly models: ModelRegistry
  readonly key?: string | undefined
  /** The token of the link with which the owner signs in, if it was just created. */
  readonly linkToken?: string | undefined
}

/** Prints the banner if the log level includes `info`, and a new key in any case. */
export function announce (
  { address, settings, models, key, linkToken }: Ready,
  log: Log,
  { notice }: Pick<Terminal, 'notice'>
): void {
  const providers = settings.providers.filter(({ enabled }) => enabled)
  if (log.isLevelEnabled('info'))
    notice(
      banner({
        address,
        providers,
        models,
        key,
        linkToken,
        hasDashboard: isDashboardServed(settings),
        publicUrl: settings.server.publicUrl
      })
    )
  else if (key !== undefined) notice(keyNotice(key))
}

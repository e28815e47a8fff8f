/** Prints that the gateway is ready. */

import type { Address } from '../http/listen.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { Settings } from '../core/settings.ts'
import type { Log } from '../telemetry/log.ts'
import { banner, keyNotice } from './banner.ts'
import type { Terminal } from './terminal.ts'

export interface Ready {
  readonly address: Address
  readonly settings: Settings
  readonly models: ModelRegistry
  readonly key?: string | undefined
}

/** Prints the banner if the log level includes `info`; a new key in any case. */
export function announce ({ address, settings, models, key }: Ready, log: Log, { notice }: Pick<Terminal, 'notice'>): void {
  const providers = settings.providers.filter(({ enabled }) => enabled)
  if (log.isLevelEnabled('info')) notice(banner({ address, providers, models, key }))
  else if (key !== undefined) notice(keyNotice(key))
}

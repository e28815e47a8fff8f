/** Services out of settings: everything that holds sockets or state, and how to let go of it. */

import { createModels } from './models/model-index.ts'
import { createProvider } from './providers/index.ts'
import { httpTransport } from './upstream.ts'
import type { KeyStore } from './keys/key-store.ts'
import type { Provider } from './providers/provider.ts'
import type { Services } from './services.ts'
import type { ProviderSettings, Settings } from './settings.ts'
import type { Log } from './telemetry/log.ts'

export interface OpenServices extends Services {
  readonly close: () => Promise<void>
}

export interface ServiceParts {
  readonly keys: KeyStore
  readonly log: Log
  readonly ready: () => boolean
}

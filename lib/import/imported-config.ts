/** The configuration that results from importing another gateway's. */

import type { JsonObject } from '../json/type-guards.ts'
import type { PlanRow } from './plan.ts'

export interface ImportedConfig {
  /** In the shape of `headgate.yaml`. */
  readonly config: JsonObject
  /** Secrets that the file had in cleartext, by the variable from which the configuration reads them. */
  readonly secrets: ReadonlyMap<string, string>
  readonly rows: readonly PlanRow[]
}

/** A provider as it is in the configuration. */
export interface ImportedProvider {
  kind: string
  base_url?: string
  api_key?: string
  api_keys?: ReadonlyArray<string | { readonly key: string, readonly weight: number }>
  headers?: Record<string, string>
  retries?: number
  timeouts?: Record<string, number>
  options?: JsonObject
  max_connections?: number
  max_waiting_calls?: number
  proxy?: string
  proxy_credentials?: string
  tls?: { readonly ca: string }
  http2?: boolean
  cache_marks?: 'auto'
}

/** Stands for an address that the file does not have: no key is sent anywhere until it is replaced. */
export const unknownAddress = 'https://base-url.invalid'

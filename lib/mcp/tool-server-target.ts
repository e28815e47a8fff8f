/** How a tool server is reached. */

import type { Propagation } from '../core/call-trace.ts'
import type { Secret } from '../core/secret.ts'

/** A resolved tool server: how to reach it and what to send. */
export interface ToolServerTarget {
  /** Name in answers and credentials. */
  readonly name: string
  /**
   * Equal for calls that may share a session: a digest of the address, of every secret sent there, and of the
   * caller's gateway key, unless the operator shares sessions between keys.
   */
  readonly sessionKey: string
  /** The gateway key that owns the session; absent if all keys share it. */
  readonly keyId?: string
  readonly connection: RemoteServer | LocalServer
  /** The version requested by the caller, if it must be compared with what the server reports. */
  readonly version?: string
  /** Tools to offer. Default: all. */
  readonly allowedTools?: ReadonlySet<string>
  /** Maximum time per call. Default: the gateway's. */
  readonly timeoutMs?: number
  /** Trace headers to send in `_meta`. Default: none. */
  readonly propagate?: Propagation
}

export interface RemoteServer {
  readonly kind: 'remote'
  readonly url: string
  readonly headers: Readonly<Record<string, Secret>>
  /** False for the operator's servers, which may have any address. */
  readonly checkAddress: boolean
}

/** A command of the operator; requests can never name one. */
export interface LocalServer {
  readonly kind: 'command'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, Secret>>
}

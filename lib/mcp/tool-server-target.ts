import type { Propagation } from '../core/call-trace.ts'
import type { Secret } from '../core/secret.ts'

/** Describes a resolved tool server: how to reach it and what to send. */
export interface ToolServerTarget {
  /** Names it in answers and credentials. */
  readonly name: string
  /**
   * Is equal for calls that may share a session: a digest of the address, of every secret that is sent
   * there and of the caller's gateway key, unless the operator shares the session among keys.
   */
  readonly sessionKey: string
  /** The gateway key that the session belongs to; absent when all keys share it. */
  readonly keyId?: string
  readonly connection: RemoteServer | LocalServer
  /** The version the caller requested, if it is still to be checked against what the server reports. */
  readonly version?: string
  /** Limits the tools to offer; all when absent. */
  readonly allowedTools?: ReadonlySet<string>
  /** Bounds one call; the gateway's default when absent. */
  readonly timeoutMs?: number
  /** The headers of a trace that it gets, in `_meta`. Default: none. */
  readonly propagate?: Propagation
}

export interface RemoteServer {
  readonly kind: 'remote'
  readonly url: string
  readonly headers: Readonly<Record<string, Secret>>
  /** False for the operator's own servers: they may be anywhere. */
  readonly checkAddress: boolean
}

/** Describes a command of the operator; a request can never name one. */
export interface LocalServer {
  readonly kind: 'command'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, Secret>>
}

import type { Secret } from '../core/secret.ts'

/** A tool server that has been found: how to reach it and what to say to it. */
export interface ToolServerTarget {
  /** What answers and credentials call it. */
  readonly name: string
  /**
   * Equal for calls that may share a session. A digest of the address and of everything secret
   * that is sent there and, as soon as a caller added anything, of the caller's gateway key.
   */
  readonly sessionKey: string
  readonly via: RemoteServer | LocalServer
  /** The only tools to offer; all when absent. */
  readonly allowedTools?: ReadonlySet<string>
  /** Of one call; the gateway's default when absent. */
  readonly timeoutMs?: number
}

export interface RemoteServer {
  readonly kind: 'remote'
  readonly url: string
  readonly headers: Readonly<Record<string, Secret>>
  /** False for the operator's own servers: they may be anywhere. */
  readonly checkAddress: boolean
}

/** A command of the operator; never of a request. */
export interface LocalServer {
  readonly kind: 'local'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, Secret>>
}

/**
 * Passes the configuration from the primary process to its workers over IPC, so that all use the same one
 * even if the file has changed when a worker is replaced.
 */

import { isObject } from '../json/type-guards.ts'
import { sendMessage, type IpcChannel } from '../async/ipc.ts'
import { version } from '../text/version.ts'
import { decodeSettings, encodeSettings } from './print-settings.ts'
import type { AppliedConfiguration } from './read-settings.ts'

/**
 * Other modules share this IPC channel. Configurations are encoded, including secrets. The first message of
 * either side has its version, because a version installed under a running gateway may use other messages.
 * Early versions send none.
 */
type Message =
  | { readonly configuration: 'request', readonly version?: string }
  | {
    readonly configuration: 'start'
    readonly version?: string
    readonly started: string
    readonly current: string
  }
  | { readonly configuration: 'reloaded', readonly current: string }

/** The configuration that a gateway was started with, and the one its workers use now; initially equal. */
export interface ConfigurationInEffect {
  readonly started: AppliedConfiguration
  readonly current: AppliedConfiguration
}

/** The primary's side. */
export class SharedConfiguration {
  readonly #started: string
  #current: string

  constructor (started: AppliedConfiguration) {
    this.#started = this.#current = encodeSettings(started)
  }

  /**
   * Sends a worker the configuration on request, and records its reloads.
   *
   * @param onOtherVersion called for a worker of another version, which gets no configuration
   */
  join (worker: IpcChannel<Message>, onOtherVersion: (other: string) => void): void {
    worker.on('message', message => {
      if (!isMessage(message)) return
      if (message.configuration === 'reloaded') this.#current = message.current
      else if (message.configuration === 'request') {
        if (message.version !== version) return onOtherVersion(message.version ?? 'an earlier one')
        sendMessage(worker, {
          configuration: 'start', version, started: this.#started, current: this.#current
        })
      }
    })
  }
}

/**
 * Requests the configuration from the primary, in a worker.
 *
 * @throws OtherVersionError if the primary has another version
 */
export async function receiveConfiguration (primary: IpcChannel<Message>): Promise<ConfigurationInEffect> {
  return await new Promise((resolve, reject) => {
    primary.on('message', message => {
      if (!isMessage(message) || message.configuration !== 'start') return
      if (message.version !== version) reject(new OtherVersionError(message.version))
      else resolve({ started: decode(message.started), current: decode(message.current) })
    })
    sendMessage(primary, { configuration: 'request', version })
  })
}

/** A worker and its primary process have different versions. */
export class OtherVersionError extends Error {
  override readonly name = 'OtherVersionError'

  /** @param primary the primary's version; `undefined` for an early one */
  constructor (primary: string | undefined) {
    super(
      `this worker has version ${version}, and its primary process ${primary ?? 'an earlier one'}: ` +
      'restart the gateway'
    )
  }
}

/** Reports to the primary that this worker now uses another configuration. */
export function reportReload (primary: IpcChannel<Message>, current: AppliedConfiguration): void {
  sendMessage(primary, { configuration: 'reloaded', current: encodeSettings(current) })
}

function decode (text: string): AppliedConfiguration {
  return decodeSettings(text) as AppliedConfiguration // encoded by `encodeSettings`
}

function isMessage (message: unknown): message is Message {
  return isObject(message) && 'configuration' in message
}

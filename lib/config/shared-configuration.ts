/**
 * Hands the configuration of a primary process to its workers, over the IPC channel: all run with the same
 * one, whatever has become of the file when a worker replaces another.
 */

import { isObject } from '../json/guards.ts'
import { sendMessage, type IpcChannel } from '../async/ipc.ts'
import { decodeSettings, encodeSettings } from './print-settings.ts'
import type { AppliedConfiguration } from './read-settings.ts'

/** Other modules send messages over the same IPC channel. Configurations are encoded, with their secrets. */
type Message =
  | { readonly configuration: 'request' }
  | { readonly configuration: 'start', readonly started: string, readonly current: string }
  | { readonly configuration: 'reloaded', readonly current: string }

/**
 * The configuration that a gateway was started with, and the one that its workers have taken over since, at
 * first the same.
 */
export interface ConfigurationInEffect {
  readonly started: AppliedConfiguration
  readonly current: AppliedConfiguration
}

/** In the primary. */
export class SharedConfiguration {
  readonly #started: string
  #current: string

  constructor (started: AppliedConfiguration) {
    this.#started = this.#current = encodeSettings(started)
  }

  /** Sends a worker the configuration when it requests it, and takes note of what it reloads. */
  join (worker: IpcChannel<Message>): void {
    worker.on('message', message => {
      if (!isMessage(message)) return
      if (message.configuration === 'reloaded') this.#current = message.current
      else if (message.configuration === 'request') {
        sendMessage(worker, { configuration: 'start', started: this.#started, current: this.#current })
           }
    })
  }
}

/** Requests the configuration of the primary, in a worker. */
export async function receiveConfiguration (primary: IpcChannel<Message>): Promise<ConfigurationInEffect> {
  return await new Promise(resolve => {
    primary.on('message', message => {
      if (isMessage(message) && message.configuration === 'start') {
        resolve({ started: decode(message.started), current: decode(message.current) })
      }
    })
    sendMessage(primary, { configuration: 'request' })
  })
}

/** Reports to the primary that this worker has taken over another configuration. */
export function reportReload (primary: IpcChannel<Message>, current: AppliedConfiguration): void {
  sendMessage(primary, { configuration: 'reloaded', current: encodeSettings(current) })
}

function decode (text: string): AppliedConfiguration {
  return decodeSettings(text) as AppliedConfiguration // encoded from one
}

function isMessage (message: unknown): message is Message {
  return isObject(message) && 'configuration' in message
}

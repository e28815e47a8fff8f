/**
 * Makes a worker ask its primary before it listens: after all workers were down, the primary knows the
 * original port (`server.port: 0` would give another one).
 */

import { isObject } from '../json/type-guards.ts'
import { sendMessage, type IpcChannel } from '../async/ipc.ts'

type Message =
  | { readonly listen: 'ready' }
  | { readonly listen: 'go', readonly port: number | undefined }

/** Resolves when this worker may listen, to the port to use; `undefined` for the port in its settings. */
export async function waitToListen (primary: IpcChannel<Message>): Promise<number | undefined> {
  return await new Promise(resolve => {
    primary.on('message', message => {
      if (isMessage(message) && message.listen === 'go') resolve(message.port)
    })
    primary.on('disconnect', () => resolve(undefined)) // ends the worker as well
    sendMessage(primary, { listen: 'ready' })
  })
}

/** @param portOf called when the worker is about to listen; returns the port to use */
export function allowListening (worker: IpcChannel<Message>, portOf: () => number | undefined): void {
  worker.on('message', message => {
    if (isMessage(message) && message.listen === 'ready') {
      sendMessage(worker, { listen: 'go', port: portOf() })
    }
  })
}

function isMessage (message: unknown): message is Message {
  return isObject(message) && 'listen' in message
}

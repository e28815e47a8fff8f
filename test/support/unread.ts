/** A provider with endless output, and a caller who does not read. */

import { once } from 'node:events'
import { request } from 'node:http'
import { testKey, type TestGateway } from './gateway.ts'

export interface Endless {
  /** Yields a piece the given number of times. */
  readonly pieces: () => AsyncGenerator<string | Uint8Array, void, undefined>
  /** Bytes taken, once no more are. */
  readonly taken: () => Promise<number>
}

export function endlessly (piece: string | Uint8Array, times: number): Endless {
  let bytes = 0
  return {
    pieces: async function * () {
      for (let n = 0; n < times; n++) {
        bytes += piece.length
        yield piece
      }
    },
    taken: async () => {
      for (let before = -1; before !== bytes;) {
        before = bytes
        for (let turn = 0; turn < 300; turn++) await new Promise(resolve => { setImmediate(resolve) })
      }
      return bytes
    }
  }
}

/** Waits for the head of an answer and reads nothing of its body; returns a function that disconnects. */
export async function callWithoutReading (api: TestGateway, path: string, body: object): Promise<() => void> {
  const { port } = new URL(api.url)
  const call = request({
    port,
    path,
    method: 'POST',
    headers: { 'x-api-key': testKey, 'content-type': 'application/json' }
  })
  call.on('error', () => undefined)
  call.end(JSON.stringify(body))
  const [response] = await once(call, 'response') as [NodeJS.ReadableStream]
  response.pause()
  return () => call.destroy()
}

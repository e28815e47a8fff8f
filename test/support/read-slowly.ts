/** A reader slower than the provider: what arrives in the meantime has to wait. */

import { turns } from './turns.ts'
import type { Transport } from '../../lib/providers/provider.ts'

const timeouts = {
  connectMs: 5000,
  firstByteMs: 5000,
  responseMs: 5000,
  idleBytesMs: 5000,
  idleEventsMs: 5000
}

/**
 * Sends a request, reads the body with ticks of the event loop between its pieces, and returns its size.
 * @param afterFirst called once the first piece is read
 */
export async function readSlowly (
  transport: Transport,
  afterFirst: () => void = () => undefined
): Promise<number> {
  const { body } = await transport.send(
    { method: 'POST', path: '/x', headers: {}, body: '{}' },
    {
      signal: new AbortController().signal,
      credential: {},
      timeouts,
      streamed: false
    }
  )
  let sizeBytes = 0
  for await (const bytes of body) {
    await turns(5)
    if (sizeBytes === 0) afterFirst()
    sizeBytes += bytes.length
    await turns(5)
  }
  return sizeBytes
}

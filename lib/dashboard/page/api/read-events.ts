/** Reads a stream of server-sent events as JSON, until `[DONE]`; the messages of one read at a time. */

import { createParser } from 'eventsource-parser'

export async function * readEvents<T> (response: Response): AsyncGenerator<readonly T[]> {
  if (response.body === null) return
  let batch: T[] = []
  let done = false
  const parser = createParser({
    onEvent ({ data }) {
      if (data === '[DONE]') done = true
      // The gateway's own schema says what its messages are; a page that misreads one shows nothing of it.
      else if (!done) batch.push(JSON.parse(data) as T)
    }
  })
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done: ended, value } = await reader.read()
    if (ended) return
    parser.feed(value)
    if (batch.length > 0) yield batch
    batch = []
  }
}

import t from 'tap'
import { typedStream } from '../../../lib/providers/openai/typed-stream.ts'
import { ProviderFailure } from '../../../lib/providers/provider-failure.ts'
import { readerOf } from '../../support/adapters.ts'
import type { StreamReader } from '../../../lib/providers/provider.ts'

function opened (): StreamReader<unknown> {
  return typedStream<unknown>(({ type }, into) => { into.push(type) }, ({ type }) => type === 'last')
}

const message = (
  data: string,
  event?: string
): { data: string, event: string | undefined, id: undefined } => ({ data, event, id: undefined })

t.test('a stream may end only after its last message', async t => {
  const reader = opened()
  const read = readerOf(reader)
  const interrupted = { code: 'upstream_stream_interrupted' }
  t.same(read(message('{"type":"first"}')), ['first'])
  t.throws(() => reader.end([]), interrupted)
  t.same(read(message('{"type":"last"}')), ['last'])
  t.doesNotThrow(() => reader.end([]))
  t.equal(reader.isDone, false)
  t.same(read(message(' [DONE]\n')), [])
  t.equal(reader.isDone, true)
  t.throws(() => readerOf(opened())(message('[DONE]')), interrupted)
})

t.test('an error inside the stream is a failure of the provider', async t => {
  t.throws(() => readerOf(opened())(message('{"error":{"message":"busy","code":503}}')), ProviderFailure)
  t.throws(() => readerOf(opened())(message('{"message":"busy"}', 'error')), ProviderFailure)
  t.throws(() => readerOf(opened())(message('<html>')), { code: 'upstream_invalid_response' })
})

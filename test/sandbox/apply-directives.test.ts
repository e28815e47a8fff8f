import t from 'tap'
import { timeouts, user, send, message, framesIn, readAll } from '../support/sandbox.ts'

t.test('a stream fails after the given number of words', async t => {
  const fail = async (order: string, more: object = {}) => {
    const { text, error } = await readAll(
      await send(
        { messages: user(`Hi [sandbox: ${order}]`), stream: true },
        { timeouts: { ...timeouts, idleBytesMs: 1, firstByteMs: 1 }, ...more }
      )
    )
    const frames = framesIn(text)
    const words = frames.filter(frame => /"content":"[^"]/.test(frame)).length
    return { frames, words, error, last: frames.at(-1) }
  }
  t.match(await fail('cut after=3'), { words: 3, error: { code: 'upstream_stream_interrupted' } })
  t.match(await fail('stall after=2'), { words: 2, error: { code: 'upstream_timeout' } })
  t.match(await fail('end after=3'), { words: 3, error: undefined, last: /"content":" Headgate's"/ })
  t.match(await fail('end after=0'), { words: 0, frames: [/"role"/], error: undefined })
  t.match(await fail('end'), { frames: [], error: undefined })
  t.match(await fail('garbage after=1'), { words: 1, error: undefined, last: '<html>' })
  t.match(await fail('error after=1 code=overloaded'), { words: 1, error: undefined, last: '[DONE]' })
  const { frames } = await fail('error')
  t.match(JSON.parse(frames[0] ?? ''), { error: { type: 'server_error' } })
  t.match(await fail('filter after=2'), { words: 2, last: '[DONE]', error: undefined })
  t.match(
    await fail('cut after=9999'),
    { last: '[DONE]', error: undefined },
    'a shorter answer is not disturbed'
  )
  await t.rejects(fail('stall'), { code: 'upstream_timeout' })
  await t.rejects(fail('cut'), { code: 'upstream_unreachable' })
  await t.rejects(fail('delay ms=9000'), { code: 'upstream_timeout' })
})

t.test('a complete answer fails midway, or states the error', async t => {
  const fail = async (order: string) => {
    const answer = await send(
      { messages: user(`Hi [sandbox: ${order}]`) },
      { timeouts: { ...timeouts, idleBytesMs: 1, responseMs: 1 } }
    )
    return { status: answer.status, ...(await readAll(answer)) }
  }
  t.match(await fail('cut after=3'), { text: /^\{"id"/, error: { code: 'upstream_stream_interrupted' } })
  t.match(await fail('stall after=3'), { text: /^\{"id"/, error: { code: 'upstream_timeout' } })
  const { text, error } = await fail('end')
  t.equal(error, undefined)
  t.throws(() => JSON.parse(text))
  t.match(await fail('garbage'), { status: 200, text: '<html>', error: undefined })
  t.match(JSON.parse((await fail('error code=x')).text), { error: { type: 'server_error', code: 'x' } })
  t.match(JSON.parse((await fail('filter after=1')).text), {
    choices: [{ finish_reason: 'content_filter', message: { content: 'This' } }]
  })
  await t.rejects(fail('stall'), { code: 'upstream_timeout' })
  await t.rejects(fail('cut'), { code: 'upstream_unreachable' })
})

t.test('a byte-by-byte answer has the same content', async t => {
  const drip = await send({ messages: user('Hé [sandbox: drip ms=0]'), stream: true })
  const pieces: Uint8Array[] = []
  for await (const bytes of drip.body) pieces.push(bytes)
  t.ok(pieces.every(({ length }) => length === 1))
  t.match(framesIn(Buffer.concat(pieces).toString()).at(-1), '[DONE]')
  t.match(await message({ messages: user('Hi [sandbox: drip ms=0]') }), { content: /Hi/ })
})

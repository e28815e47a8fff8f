import t from 'tap'
import { sandboxTransport } from '../../lib/sandbox/transport.ts'
import { timeouts, user, send, readAll, timers } from '../support/sandbox.ts'

t.test('words come no faster than the pace, in whichever unit it is set', async t => {
  // The pauses themselves, measured by the timeout that a pause of that length exceeds.
  const paced = async (content: string, model = 'echo', options: Record<string, unknown> = {}) => {
    const answer = await send({ model, messages: user(content), stream: true, max_tokens: 1 },
      { timeouts: { ...timeouts, idleBytesMs: 1 } }, sandboxTransport(options))
    return await readAll(answer)
  }
  const tooSlow = { error: { code: 'upstream_timeout' }, text: /"role"/ }
  t.match(await paced('Hi'), tooSlow, '50 words a second unless set')
  t.match(await paced('Hi', 'slow', { words_per_second: 0 }), tooSlow)
  t.match(await paced('Hi', 'echo', { words_per_second: 1000 }), { error: undefined })
  t.match(await paced('Hi [sandbox: pace=0]'), { error: undefined })
  t.match(await paced('Hi [sandbox: pace=10]', 'echo', { words_per_second: 0 }), tooSlow)
  for (const words_per_second of ['50', -1, Number.NaN]) {
    t.throws(() => sandboxTransport({ words_per_second }), { message: /words_per_second/ })
  }
})

t.test('the signal ends an answer at once, at any point, and leaves no timer', async t => {
  const before = timers()
  const reason = new Error('gone')
  const waits: Array<[string, (signal: AbortSignal) => Promise<unknown>]> = [
    ['waiting for the head', signal => send({ messages: user('[sandbox: stall]') }, { signal })],
    ['a late head', signal => send({ messages: user('[sandbox: delay ms=60000]') }, { signal })],
    [
      'reading a complete answer',
      async signal =>
        (await send({ messages: user('[sandbox: stall after=0]') }, { signal })).body.buffer(1e6)
    ],
    [
      'between two words',
      async signal =>
        (await send({ messages: user('[sandbox: pace=0.001]'), stream: true }, { signal })).body.buffer(1e6)
    ]
  ]
  for (const [name, wait] of waits) {
    const controller = new AbortController()
    const waiting = wait(controller.signal)
    await new Promise(resolve => { setImmediate(resolve) })
    t.equal(timers(), before + 1, `${name}: a timer while it lasts`)
    controller.abort(reason)
    t.equal(timers(), before, `${name}: none after`)
    await t.rejects(waiting, reason, name)
  }
  const controller = new AbortController()
  const { body } = await send({ messages: user('Hi'), stream: true }, { signal: controller.signal })
  const reader = body[Symbol.asyncIterator]()
  await reader.next()
  controller.abort(reason)
  await t.rejects(reader.next(), reason, 'also where there was nothing to wait for')
  t.same(await reader.next(), { done: true, value: undefined })
  await t.rejects(
    send({ messages: user('Hi') }, { signal: controller.signal }),
    reason,
    'and before it began'
  )
})

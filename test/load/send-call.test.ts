import t from 'tap'
import { AnswerCheck } from '../../lib/load/answer-check.ts'
import { streamPieces, texts } from '../../lib/load/answers.ts'
import { openTarget, sendCall } from '../../lib/load/send-call.ts'
import { httpServer } from '../support/http-server.ts'

t.test('a gateway is found with and without /v1, also below a path, and its key is sent', async t => {
  for (const [given, path] of [
    ['http://127.0.0.1:1', '/v1/chat/completions'],
    ['http://127.0.0.1:1/v1', '/v1/chat/completions'],
    ['http://127.0.0.1:1/v1/', '/v1/chat/completions'],
    ['https://example.com/ai', '/ai/v1/chat/completions'],
    ['https://example.com/ai/v1', '/ai/v1/chat/completions']
  ] as const) t.equal(openTarget(new URL(given), 'key').url.pathname, path, given)
  t.equal(openTarget(new URL('http://127.0.0.1:1'), 'key').headers['authorization'], 'Bearer key')
  t.equal(openTarget(new URL('http://127.0.0.1:1'), undefined).headers['authorization'], undefined)
})

t.test(
  'the first byte and the end of a stream are timed, and an endless answer is abandoned',
  async t => {
    const pieces = streamPieces(100)
    const { url } = await httpServer(t, (request, response) => {
      request.resume()
      if (request.headers['x-endless'] !== undefined) {
        const more = (): void => {
          while (response.write('x'.repeat(65_536)));
          response.once('drain', more)
        }
        return more()
      }
      response.write(pieces[0])
      setTimeout(() => response.end(pieces[1]), 300)
    })
    const target = openTarget(new URL(url), undefined)
    const check = new AnswerCheck({ frames: texts.length + 4, text: texts.join('') })
    const { signal } = new AbortController()
    const { firstByteMs, endMs } = await sendCall(target, Buffer.from('{}'), check, signal)
    t.ok(endMs - firstByteMs > 100, `${endMs - firstByteMs} ms`)
    const endless = { ...target, headers: { 'x-endless': '1' } }
    await t.rejects(sendCall(endless, Buffer.from('{}'), check, signal), /the answer does not end/)
    target.agent.destroy()
  }
)

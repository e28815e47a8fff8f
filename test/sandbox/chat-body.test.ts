import t from 'tap'
import { timeouts, transport } from '../support/sandbox.ts'

t.test('an invalid chat request is refused', async t => {
  const { signal } = new AbortController()
  const options = { signal, credential: {}, timeouts, streamed: false }
  const ask = (path: string, body: string | Uint8Array) =>
    transport.send({ method: 'POST', path, headers: {}, body }, options)
  t.equal((await ask('/nowhere', '{}')).status, 404)
  t.equal((await ask('/embeddings', '{}')).status, 400)
  t.equal((await ask('/chat/completions', '{')).status, 400)
  t.equal((await ask('/chat/completions', '{"model":"echo"}')).status, 400)
  t.equal((await ask('/chat/completions', Buffer.from('{"model":"echo","messages":[]}'))).status, 200)
})

/** Images in tool results of chat completions, for servers of the same dialect. */

import t from 'tap'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
const turn = { role: 'assistant', content: null, tool_calls: [call] }

t.test('images of tool results reach servers of the dialect in a user message', async t => {
  const upstream = await fakeUpstream(() => ({ pieces: [chatAnswer('seen')] }))
  t.teardown(upstream.close)
  const { post } = await testGateway(t, {
    providers: [
      upstreamAt(`${upstream.url}/v1`, 'openai', 'openai'),
      upstreamAt(`${upstream.url}/v1`, 'mistral', 'mistral')
    ]
  })
  const ask = async (model: string, part: object): Promise<Response> => await post('/v1/chat/completions', {
    model,
    messages: [
      { role: 'user', content: 'What is there?' },
      turn,
      { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'A picture:' }, part] }
    ]
  })
  const shown = { role: 'user', content: [{ type: 'text', text: 'The image 1 of tool call call_1:' }, image] }
  const note = 'A picture:\n[image 1 of tool call call_1: in the next message]'
  t.equal((await ask('openai/gpt-4.1', image)).status, 200)
  t.match(upstream.requests.at(-1)?.json, {
    messages: [{ role: 'user' }, turn, { role: 'tool', tool_call_id: 'call_1', content: note }, shown]
  })
  t.equal((await ask('mistral/some-model', image)).status, 200)
  t.match(upstream.requests.at(-1)?.json, {
    messages: [{}, {}, { role: 'tool', content: note }, { role: 'assistant' }, shown]
  })
  const file = await ask('openai/gpt-4.1', { type: 'image_url', image_url: { url: 'file:///etc/passwd' } })
  t.equal(file.status, 403, 'addresses are checked as in user messages')
  t.match(await file.json(), { error: { param: /^messages/ } })
  const audio = await ask('openai/gpt-4.1', { type: 'input_audio', input_audio: { data: '', format: 'wav' } })
  t.equal(audio.status, 422)
})

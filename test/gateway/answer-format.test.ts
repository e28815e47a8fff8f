/** A schema for the answer, sent in every API to a server that knows no schemas. */

import t from 'tap'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'

t.test('DeepSeek gets the schema of an answer as an instruction, from callers of every API', async t => {
  const upstream = await fakeUpstream(() => ({ pieces: [chatAnswer('{"city":"Rome"}')] }))
  t.teardown(upstream.close)
  const { post } = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'deepseek', 'deepseek')]
  })
  const model = 'deepseek/some-model'
  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  const said = [{ role: 'user', content: 'hi' }]
  const requests: ReadonlyArray<readonly [path: string, request: object]> = [
    [
      '/v1/chat/completions',
      {
        messages: [{ role: 'system', content: 'Be brief.' }, ...said],
        response_format: { type: 'json_schema', json_schema: { name: 'place', schema } }
      }
    ],
    [
      '/v1/responses',
      {
        instructions: 'Be brief.',
        input: 'hi',
        text: { format: { type: 'json_schema', name: 'place', schema } }
      }
    ],
    [
      '/v1/messages',
      {
        max_tokens: 9,
        system: 'Be brief.',
        messages: said,
        output_config: { format: { type: 'json_schema', schema } }
      }
    ]
  ]
  const instruction = `Your answer must be JSON that matches this JSON schema:\n${JSON.stringify(schema)}`
  for (const [path, request] of requests) {
    const response = await post(path, { model, ...request })
    t.match(await response.text(), /Rome/, path)
    t.match(upstream.requests.at(-1)?.json, {
      messages: [{ role: 'system', content: `Be brief.\n\n${instruction}` }, ...said],
      response_format: { type: 'json_object' }
    }, path)
  }
})

import t from 'tap'
import { sandboxModels } from '../../lib/sandbox/sandbox-models.ts'
import { user, send, textOf } from '../support/sandbox.ts'

t.test('models are listed with their capabilities, and unknown ones are not found', async t => {
  for (const { id, model, displayName, description, providerId, upstreamApi } of sandboxModels) {
    t.equal(id, `${providerId}/${model}`)
    t.match(`${displayName} ${description}`, /simulator.*simulator/)
    if (upstreamApi !== 'openai/chat/completions') continue
    t.equal((await send({ model, messages: user('Hi') })).status, 200)
    t.equal((await send({ model: id, messages: user('Hi') })).status, 200, 'the prefix may be there')
  }
  const missing = await send({ model: 'gpt', messages: [] })
  t.equal(missing.status, 404)
  t.match(JSON.parse(await textOf(missing)), {
    error: { code: 'model_not_found', param: 'model', type: 'invalid_request_error' }
  })
})

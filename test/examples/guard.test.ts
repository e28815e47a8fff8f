import t from 'tap'
import { startGateway } from '../../examples/guard.ts'

t.test('a guard refuses a call before a provider is called, and passes every other on', async t => {
  const { gateway, url } = await startGateway({ PORT: '0', HOST: '127.0.0.1' }, t.testdir())
  t.teardown(async () => await gateway.close())
  const ask = async (body: object, key = 'secret'): Promise<Response> => await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/echo', ...body })
  })
  for (const body of [{ messages: 'My card is 4111 1111 1111 1111.' }, { input: 'Pay with 4111-1111-1111-1111' }]) {
    const refused = await ask(body)
    t.equal(refused.status, 400)
    t.same(await refused.json(), {
      error: {
        message: 'Messages must not contain card numbers.',
        type: 'invalid_request_error',
        code: 'content_policy_violation',
        param: 'messages'
      }
    })
  }
  t.equal((await ask({ messages: 'My card is 4111 1111 1111 1111.' }, 'wrong')).status, 401)
  const passed = await ask({ messages: 'My number is 4111.' })
  t.equal(passed.status, 200)
  t.match(await passed.json(), { choices: [{ message: { content: /4111/ } }] })
})

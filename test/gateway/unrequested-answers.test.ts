import t from 'tap'
import { startLateProvider } from '../support/late-provider.ts'
import { testGateway, testKey, chatUpstreamAt } from '../support/gateway.ts'

t.test(
  'a response that a provider sends unrequested is never the answer to the call of another key',
  async t => {
    const provider = await startLateProvider(t)
    const check = (presented: string) => {
      // just before the request goes to the provider, in the same turn
      if (presented === 'other key') provider.writeUnrequested()
      return { id: presented === testKey ? 'key-1' : 'key-2', name: 'test' }
    }
    const { post } = await testGateway(
      t,
      { providers: [chatUpstreamAt(provider.url)] },
      {},
      { keys: { check } }
    )
    const textFor = async (key: string): Promise<string> => {
      const response = await post(
        '/v1/chat/completions',
        { model: 'openai/gpt-5', messages: 'hi' },
        { headers: { authorization: `Bearer ${key}` } }
      )
      const text = await response.text()
      return response.status === 200 ? (/answer \d+|stray/.exec(text)?.[0] ?? text) : text
    }
    for (let round = 0; round < 5; round++) {
      t.equal(await textFor(testKey), `answer ${2 * round + 1}`)
      t.equal(await textFor('other key'), `answer ${2 * round + 2}`)
    }
  }
)

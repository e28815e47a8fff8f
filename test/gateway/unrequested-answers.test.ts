import t from 'tap'
import { startLateProvider } from '../support/late-provider.ts'
import { testGateway, testKey, chatUpstreamAt } from '../support/gateway.ts'

t.test(
  'an unsolicited response of a provider never answers a call of another key',
  async t => {
    const provider = await startLateProvider(t)
    const check = (presented: string) => {
      // in the same turn, just before the request is sent to the provider
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

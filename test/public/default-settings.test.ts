import t from 'tap'
import { defaultSettings } from '../../lib/public/default-settings.ts'

t.test(
  'a gateway without configuration has the sandbox, without delays, whatever the environment',
  async t => {
    const before = process.env['OPENAI_API_KEY']
    process.env['OPENAI_API_KEY'] = 'sk-1'
    t.teardown(() => {
      if (before === undefined) delete process.env['OPENAI_API_KEY']
      else process.env['OPENAI_API_KEY'] = before
    })
    const { providers } = defaultSettings()
    t.same(
      providers.filter(({ enabled }) => enabled).map(({ id, kind }) => [id, kind]),
      [['sandbox', 'sandbox']]
    )
    t.match(providers[0]?.options, { words_per_second: 0 })
    t.equal(defaultSettings(), defaultSettings())
  }
)

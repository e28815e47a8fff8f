import t from 'tap'
import { formatPath } from '../../lib/config/path.ts'

t.test('a path is printed as in code', async t => {
  const rows = [
    [['providers', 'openai', 'base_url'], 'providers.openai.base_url'],
    [['keys', 0, 'name'], 'keys[0].name'],
    [['models', 'openai/gpt-4.1', 'price'], 'models["openai/gpt-4.1"].price'],
    [['a "b"'], '["a \\"b\\""]'],
    [[], '']
  ] as const
  for (const [path, text] of rows) t.equal(formatPath(path), text)
})

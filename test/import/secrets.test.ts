import t from 'tap'
import { ImportPlan } from '../../lib/import/plan.ts'
import { ImportedSecrets, variableIn } from '../../lib/import/secrets.ts'

t.test('variables keep their names, and plain-text secrets get a variable', async t => {
  const file = { a: 'os.environ/MY_KEY', b: 'sk-1', c: 'sk-2' }
  const plan = new ImportPlan(file)
  const secrets = new ImportedSecrets(file, plan)
  t.equal(secrets.refer('os.environ/MY_KEY', 'x', 'a'), 'env:MY_KEY')
  t.equal(secrets.refer('sk-1', 'openai api.key', 'b'), 'env:LITELLM_OPENAI_API_KEY')
  t.equal(secrets.refer('sk-1', 'openai api.key', 'b'), 'env:LITELLM_OPENAI_API_KEY', 'the same once')
  t.equal(secrets.refer('sk-2', 'openai api.key', 'c'), 'env:LITELLM_OPENAI_API_KEY_2')
  t.equal(secrets.refer(undefined, 'x', 'd'), undefined)
  t.same(secrets.referAll({ h: 'sk-3', n: 5 }, 'mcp', 'e'), { h: 'env:LITELLM_MCP_H' })
  t.same(
    [...secrets.values],
    [
      ['LITELLM_OPENAI_API_KEY', 'sk-1'],
      ['LITELLM_OPENAI_API_KEY_2', 'sk-2'],
      ['LITELLM_MCP_H', 'sk-3']
    ]
  )
  t.notMatch(JSON.stringify(plan.rows), /sk-/)
})

t.test('a variable is recognised by its prefix', async t => {
  t.same([variableIn('os.environ/A'), variableIn('A'), variableIn(3)], ['A', undefined, undefined])
})

t.test('two secrets never get the same name', async t => {
  const file = { a: ['os.environ/LITELLM_OPENAI_API_KEY'], b: 'sk-1', c: 'os.environ/A B' }
  const plan = new ImportPlan(file)
  const secrets = new ImportedSecrets(file, plan)
  t.equal(
    secrets.refer('sk-1', 'openai_api_key', 'b'),
    'env:LITELLM_OPENAI_API_KEY_2',
    'the file refers to the first'
  )
  t.equal(
    secrets.refer('sk-1', 'proxy_api_key', 'b'),
    'env:LITELLM_PROXY_API_KEY_2',
    'LiteLLM reads the first by itself'
  )
  t.equal(secrets.refer('os.environ/A B', 'x', 'c'), undefined)
  t.match(plan.rows.find(({ path }) => path === 'c'), { verdict: 'unsupported' })
})

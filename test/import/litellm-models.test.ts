import t from 'tap'
import { budgetClock } from '../../lib/import/litellm-budgets.ts'
import { LitellmModels } from '../../lib/import/litellm-models.ts'
import { ImportPlan } from '../../lib/import/plan.ts'
import { ImportedSecrets } from '../../lib/import/secrets.ts'

t.test('models with the same settings share a provider, others get their own', async t => {
  const key = (name: string): object => ({ model: 'openai/gpt-4o', api_key: `os.environ/${name}` })
  const file = {
    model_list: [
      { model_name: 'a', litellm_params: key('ONE') },
      { model_name: 'b', litellm_params: key('ONE') },
      { model_name: 'c', litellm_params: key('TWO') },
      { model_name: 'c', litellm_params: { model: 'openai/x', api_base: 'http://10.0.0.1:8000/v1/' } }
    ]
  }
  const plan = new ImportPlan(file)
  const { providers, deployments } = new LitellmModels(
    file,
    plan,
    new ImportedSecrets(file, plan),
    budgetClock(file, 0)
  )
  t.same([...providers.keys()], ['openai', 'openai-2', '10.0.0.1-8000'])
  t.equal(providers.get('10.0.0.1-8000')?.base_url, 'http://10.0.0.1:8000/v1')
  t.same([...deployments].map(([name, behind]) => [name, behind.map(({ model }) => model)]), [
    ['a', ['openai/gpt-4o']], ['b', ['openai/gpt-4o']], ['c', ['openai-2/gpt-4o', '10.0.0.1-8000/x']]
  ])
})

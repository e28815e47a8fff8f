import { fixed, unseen, type Places } from '../json/place-table.ts'

const route = unseen('chooses the route')

/** Where a request names models and guards. Model settings were already applied when routes were chosen. */
export const modelTexts: Places = {
  model: route,
  'model[]': route,
  'model.model': route,
  'model[].model': route,
  'model.settings.**': fixed,
  'model[].settings.**': fixed,
  'model_attributes.**': unseen('numbers by names of models'),
  'agent_attributes.**': unseen('numbers'),
  'guardrails.**': unseen('names of guards')
}

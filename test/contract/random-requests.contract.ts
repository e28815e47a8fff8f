/** Random requests and histories: every body sent to a provider matches the provider's API description. */

import fc from 'fast-check'
import t from 'tap'
import { description } from '../support/description.ts'
import { holds } from '../support/property.ts'
import { randomRequests, requestedModels, sentRequest } from '../support/random-requests.ts'
import type { ProviderKind } from '../../schemas/providers.ts'

/** The description of requests for each provider kind; kinds with the chat completions API use OpenAI's. */
const descriptions: Readonly<Partial<Record<ProviderKind, readonly [file: string, definition: string]>>> = {
  anthropic: ['anthropic.json', 'CreateMessageRequest'],
  google: ['gemini.json', 'GenerateContentRequest'],
  xai: ['xai.json', 'ChatRequest'],
  openai: ['openai.json', 'CreateChatCompletionRequest'],
  'openai-compatible': ['openai.json', 'CreateChatCompletionRequest']
}

const responses = description('openai-responses.json')?.validator('CreateResponse')

for (const [name, [file, definition]] of Object.entries(descriptions)) {
  const kind = name as ProviderKind // a key of the table
  const validate = description(file)?.validator(definition)
  if (validate === undefined || responses === undefined) continue

  t.test(`${kind}: bodies match ${definition} of ${file}`, async t => {
    holds(
      t,
      fc.property(fc.constantFrom(...(requestedModels[kind] ?? [])), randomRequests, (model, request) => {
        const sent = sentRequest(kind, model, request)
        if (sent === undefined) return
        const isRight = sent.path.endsWith('/responses') ? responses : validate
        if (!isRight(sent.body)) {
          throw new Error(`${JSON.stringify(isRight.errors?.slice(0, 3))} ${JSON.stringify(sent.body)}`)
        }
      }),
      { numRuns: 300, seed: 1 }
    )
  })
}

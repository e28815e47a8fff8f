import t from 'tap'
import { once } from '../../lib/pipeline/sources.ts'
import { defaultTextLimit } from '../../lib/stages/default-text-limit.ts'
import { collect, route, routedCall } from '../support/stages.ts'
import type { TextInput } from '../../lib/chat/input.ts'
import type { Route } from '../../lib/core/route.ts'

const other: Route = { ...route, modelId: 'two/m' }

async function bounded (
  parts: Partial<TextInput>,
  first: Route['settings'],
  second?: Route['settings']
): Promise<unknown> {
  const request: TextInput = {
    model: 'm',
    messages: [{ role: 'user', content: 'x' }],
    text: { prompt: 'x' },
    ...parts
  }
  const routes = [
    { ...route, ...first && { settings: first } },
    { ...other, ...second && { settings: second } }
  ] as const
  const [call] = await collect(defaultTextLimit()(once(routedCall(request, { routes }))))
  return [call?.request.max_tokens, ...call?.routes.map(({ settings }) => settings) ?? []]
}

t.test("a completion without a limit gets the default or the limit of its model's settings", async t => {
  t.strictSame(await bounded({}, undefined), [16, undefined, undefined])
  t.strictSame(await bounded({ max_tokens: 5 }, { seed: 1 }), [5, { seed: 1 }, undefined])
  t.strictSame(await bounded({}, { max_completion_tokens: 50 }), [
    undefined,
    { max_completion_tokens: 50 },
    { max_tokens: 16 }
  ])
  t.strictSame(await bounded({}, { max_tokens: 50 }, { seed: 1 }), [
    undefined,
    { max_tokens: 50 },
    { max_tokens: 16, seed: 1 }
  ])
})

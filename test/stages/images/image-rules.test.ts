import t from 'tap'
import { GatewayError } from '../../../lib/core/errors.ts'
import { once } from '../../../lib/pipeline/sources.ts'
import { imageRules } from '../../../lib/stages/images/image-rules.ts'
import { collect, route, routedCall } from '../../support/stages.ts'

const other = { ...route, modelId: 'one/other' }
t.test('suitable routes stay, in order', async t => {
  let checked = 0
  const stage = imageRules<{ prompt: string }>({
    task: 'generation',
    checkFiles: () => {
      if (checked++ === 0) throw new GatewayError('unsupported_format')
    }
  })
  const [call] = await collect(stage(once(routedCall({ prompt: 'a' }, { routes: [route, other] }))))
  t.same(call?.routes, [other])
})

t.test('if none is suitable, the error has the reason of the first', async t => {
  const codes = ['unsupported_format', 'invalid_value'] as const
  let checked = 0
  const stage = imageRules<{ prompt: string }>({
    task: 'generation',
    checkFiles: () => {
      throw new GatewayError(codes[checked++] ?? 'internal_error')
    }
  })
  await t.rejects(collect(stage(once(routedCall({ prompt: 'a' }, { routes: [route, other] })))), {
    code: 'unsupported_format'
  })
})

import t from 'tap'
import { once } from '../../../lib/pipeline/sources.ts'
import { embeddingLimits } from '../../../lib/stages/embeddings/embedding-limits.ts'
import { collect, route, routedCall } from '../../support/stages.ts'
import type { Route } from '../../../lib/core/route.ts'
import type { TokenCounter } from '../../../lib/embeddings/token-counter.ts'
import type { Excess } from '../../../lib/embeddings/measure-inputs.ts'
import type { EmbeddingsRequest } from '../../../schemas/embeddings.ts'

const nothingToCount: TokenCounter = {
  excess: async () => await Promise.reject(new Error('nothing has to be counted')),
  close: async () => {}
}
const small: Route = {
  ...route,
  traits: {
    embeddings: { dimensions: 4, supportsDimensions: false, tokensPerInput: 10, tokensPerRequest: 20 }
  }
}
const unknown: Route = { ...route, modelId: 'two/m', providerId: 'two' }

async function routesOf (
  request: Partial<EmbeddingsRequest>,
  routes: readonly [Route, ...Route[]],
  tokens = nothingToCount
): Promise<readonly Route[] | undefined> {
  const call = routedCall<EmbeddingsRequest>({ model: 'one/m', input: 'a', ...request }, { routes })
  const [out] = await collect(embeddingLimits({ tokenCounter: tokens })(once(call)))
  return out?.routes
}

t.test('a request that every model accepts keeps all its routes', async t => {
  t.same(await routesOf({}, [small, unknown]), [small, unknown])
})

t.test('an unsuitable model is left out, and the last one gives the reason', async t => {
  t.same(await routesOf({ dimensions: 2 }, [small, unknown]), [unknown])
  await t.rejects(routesOf({ dimensions: 2 }, [small]), {
    code: 'unsupported_parameter',
    param: 'dimensions'
  })
  await t.rejects(routesOf({ input: [Array.from({ length: 11 }, () => 1)] }, [small]), {
    code: 'context_length_exceeded',
    param: 'input'
  })
})

t.test('a text near the limit is counted exactly', async t => {
  let counted = 0
  const counter = (excess: Excess | undefined): TokenCounter => ({
    ...nothingToCount,
    excess: async () => {
      counted++
      return await Promise.resolve(excess)
    }
  })
  const near = 'ab '.repeat(6)
  t.same(await routesOf({ input: near }, [small], counter(undefined)), [small])
  await t.rejects(routesOf({ input: near }, [small], counter({ part: 'input', index: 0 })), {
    code: 'context_length_exceeded'
  })
  t.equal(counted, 2)
})

t.test('a configured route with models of different vectors is refused', async t => {
  await t.rejects(routesOf({}, [small, { ...small, model: 'other', modelId: 'one/other' }]), {
    code: 'invalid_value',
    param: 'model'
  })
})

t.test('a model without its own limits has those of the catalogue', async t => {
  const tokens = (count: number): number[] => Array.from({ length: count }, () => 1)
  t.same(await routesOf({ input: [tokens(8192)] }, [unknown]), [unknown])
  await t.rejects(routesOf({ input: [tokens(8193)] }, [unknown]), {
    code: 'context_length_exceeded',
    param: 'input'
  })
  await t.rejects(routesOf({ input: Array.from({ length: 37 }, () => tokens(8192)) }, [unknown]), {
    code: 'context_length_exceeded',
    message: /300000/
  })
})

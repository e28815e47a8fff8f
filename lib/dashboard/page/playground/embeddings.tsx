/** Compares texts by their embeddings. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Field } from '../parts/field.tsx'
import { useAction } from '../state/action.ts'
import type { CatalogueEntry } from '../state/catalogue.ts'
import { call } from './call.ts'
import { ModelField } from './model-field.tsx'
import { Trial } from './trial.tsx'

interface Similarities {
  readonly texts: readonly string[]
  readonly matrix: ReadonlyArray<readonly number[]>
  readonly dimensions: number
}

const maxTexts = 12
const embeds = ({ id, kind }: CatalogueEntry): boolean => kind === 'model' && /embed/.test(id)

export function Embeddings (): JSX.Element {
  const action = useAction()
  const model = useSignal('')
  const text = useSignal('The window is open.\nThe window is not closed.\nInvoices are due in 30 days.')
  const found = useSignal<Similarities | undefined>(undefined)
  const texts = text.value.split('\n').map(line => line.trim()).filter(line => line !== '')
  const compare = async (): Promise<void> => {
    const response = await call('/v1/embeddings', { body: { model: model.value, input: texts } })
    const { data } = (await response.json()) as {
      readonly data: ReadonlyArray<{ readonly embedding: readonly number[] }>
    }
    const vectors = data.map(({ embedding }) => embedding)
    found.value = {
      texts,
      matrix: vectors.map(one => vectors.map(other => similarity(one, other))),
      dimensions: vectors[0]?.length ?? 0
    }
  }
  const tooMany = texts.length > maxTexts
  return (
    <Trial
      action={action}
      button='Compare'
      ready={model.value !== '' && texts.length > 1 && !tooMany}
      onSubmit={compare}
      icon='split'
      empty='Similarities appear here'
      fields={
        <>
          <ModelField model={model} suits={embeds} />
          <Field
            label='Texts'
            hint={`One a line, from 2 to ${maxTexts}.`}
            error={tooMany ? `These are ${texts.length} texts; ${maxTexts} at most.` : undefined}
          >
            {control => (
              <textarea
                {...control}
                class='textarea'
                rows={8}
                value={text.value}
                onInput={event => {
                  text.value = event.currentTarget.value
                }}
              />
            )}
          </Field>
        </>
      }
      result={found.value !== undefined && <Matrix {...found.value} />}
    />
  )
}

function Matrix ({ texts, matrix, dimensions }: Similarities): JSX.Element {
  return (
    <div class='table-scroll' tabIndex={0} role='region' aria-label='Similarities'>
      <table class='table compact matrix'>
        <thead>
          <tr>
            <th scope='col'>{dimensions} dimensions</th>
            {texts.map((_, column) => (
              <th key={column} scope='col' class='number'>
                {column + 1}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {matrix.map((row, index) => (
            <tr key={index}>
              <th scope='row'>
                <span class='clip'>
                  {index + 1}. {texts[index]}
                </span>
              </th>
              {row.map((value, column) => (
                <td key={column} class={`number heat-${Math.max(0, Math.min(4, Math.floor(value * 5)))}`}>
                  {value.toFixed(3)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Returns the cosine of the angle between two vectors. */
function similarity (one: readonly number[], other: readonly number[]): number {
  let [product, first, second] = [0, 0, 0]
  for (let index = 0; index < one.length; index++) {
    const [a = 0, b = 0] = [one[index], other[index]]
    product += a * b
    first += a * a
    second += b * b
  }
  return product / Math.sqrt(first * second || 1)
}

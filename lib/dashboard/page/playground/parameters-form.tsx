/** The parameters of a request: common ones, and all others in a collapsed section. */

import type { JSX } from 'preact'
import { Fold } from '../parts/fold.tsx'
import { Failure } from '../parts/notice.tsx'
import { SkeletonLines } from '../parts/skeleton.tsx'
import { useResource } from '../state/resource.ts'
import { ParameterField } from './parameter-field.tsx'
import { loadParameters } from './schema.ts'

export interface ParametersFormProps {
  readonly schema: string
  readonly values: Readonly<Record<string, unknown>>
  readonly onChange: (values: Readonly<Record<string, unknown>>) => void
  /** Shown first, in this order. */
  readonly first: readonly string[]
  /** Set elsewhere on the page, or useless here. */
  readonly without: readonly string[]
}

export function ParametersForm ({
  schema,
  values,
  onChange,
  first,
  without
}: ParametersFormProps): JSX.Element {
  const { data, error, reload } = useResource(schema, async () => loadParameters(schema))
  if (data === undefined) {
    return error === undefined ? (
      <SkeletonLines lines={4} />
    ) : (
      <Failure error={error} retry={() => void reload()} />
    )
  }
  const set = (name: string, value: unknown): void => {
    const { [name]: _former, ...others } = values
    onChange(value === undefined ? others : { ...others, [name]: value })
  }
  const field = (parameter: (typeof data)[number]): JSX.Element => (
    <ParameterField
      key={parameter.name}
      parameter={parameter}
      value={values[parameter.name]}
      onChange={value => set(parameter.name, value)}
    />
  )
  const others = data.filter(({ name }) => !first.includes(name) && !without.includes(name))
  const changed = others.filter(({ name }) => name in values).length
  return (
    <div class='stack'>
      {first.flatMap(name => data.filter(parameter => parameter.name === name)).map(field)}
      <Fold title='All parameters' note={changed > 0 ? `${changed} set` : undefined}>
        {others.map(field)}
      </Fold>
    </div>
  )
}

/** Chooses a model by typing a part of its name. */

import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import { catalogue, type CatalogueEntry } from '../state/catalogue.ts'

export interface ModelSelectProps {
  readonly value: string
  readonly onChange: (model: string) => void
  readonly label: string
  /** Keeps the models that the use needs. */
  readonly suits: (entry: CatalogueEntry) => boolean
}

export function ModelSelect ({ value, onChange, label, suits }: ModelSelectProps): JSX.Element {
  const list = useId()
  return (
    <>
      <input
        class='input small model-select mono'
        list={list}
        aria-label={label}
        placeholder='Choose a model'
        value={value}
        autocomplete='off'
        spellcheck={false}
        onInput={event => onChange(event.currentTarget.value.trim())}
        onFocus={event => event.currentTarget.select()}
      />
      <datalist id={list}>
        {catalogue.value
          .filter(entry => entry.status !== 'disabled' && suits(entry))
          .map(({ id, display_name }) => (
            <option key={id} value={id}>
              {display_name}
            </option>
          ))}
      </datalist>
    </>
  )
}

/** Creates a key: the form first, then its text, which is shown once. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/notice.tsx'
import { useAction } from '../state/action.ts'
import { currentSession } from '../state/session.ts'
import { newKeyDraft, newKeyOf } from './key-draft.ts'
import { keyFieldNames, KeyFields } from './key-fields.tsx'
import { KeySecret } from './key-secret.tsx'

type CreatedKey = Answer<'POST /admin/v1/keys'>

export interface NewKeyProps {
  readonly project?: string
  readonly onClose: () => void
  readonly onCreated: (key: CreatedKey['key']) => void
}

export function NewKey ({ project, onClose, onCreated }: NewKeyProps): JSX.Element {
  const { projects } = currentSession()
  const draft = useSignal(newKeyDraft(project ?? projects[0]?.id ?? 'default'))
  const created = useSignal<CreatedKey | undefined>(undefined)
  const { run, busy, error } = useAction()
  const create = (): void => {
    void run(async () => {
      created.value = await api('POST /admin/v1/keys', { body: newKeyOf(draft.value) })
      onCreated(created.value.key)
    })
  }
  if (created.value !== undefined) {
    return <KeySecret created={created.value} title='Your new key' onClose={onClose} />
  }
  return (
    <Dialog
      title='Create a key'
      onClose={onClose}
      onSubmit={create}
      wide
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' busy={busy} disabled={draft.value.name.trim() === ''}>
            Create key
          </Button>
        </>
      }
    >
      <KeyFields
        draft={draft.value}
        onChange={next => {
          draft.value = next
        }}
        error={error}
        isNew
      />
      <Failure error={error} fields={keyFieldNames} />
    </Dialog>
  )
}

/** The menu of a key, with its dialogs. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Menu } from '../parts/menu.tsx'
import { toast } from '../parts/toast.tsx'
import { may } from '../state/session.ts'
import { EditKey } from './edit-key.tsx'
import { RotateKey } from './rotate-key.tsx'

type Key = Answer<'GET /admin/v1/keys/:key_id'>

export function KeyActions ({
  apiKey,
  onChanged
}: {
  readonly apiKey: Key
  readonly onChanged: (key: Key) => void
}): JSX.Element | null {
  const open = useSignal<'edit' | 'rotate' | 'revoke' | undefined>(undefined)
  const close = (): void => { open.value = undefined }
  if (apiKey.source === 'configuration' || apiKey.status === 'revoked' || !may('member')) return null
  const revoke = async (): Promise<void> => {
    onChanged(await api('DELETE /admin/v1/keys/:key_id', { at: { key_id: apiKey.id } }))
    toast('Key revoked')
  }
  return (
    <>
      <Menu label={`Actions for ${apiKey.name}`} items={[
        { label: 'Edit', icon: 'edit', onSelect: () => { open.value = 'edit' } },
        { label: 'Rotate', icon: 'refresh', onSelect: () => { open.value = 'rotate' } },
        { label: 'Revoke', icon: 'trash', danger: true, onSelect: () => { open.value = 'revoke' } }
      ]} />
      {open.value === 'edit' && <EditKey apiKey={apiKey} onClose={close} onChanged={onChanged} />}
      {open.value === 'rotate' && <RotateKey apiKey={apiKey} onClose={close} onChanged={onChanged} />}
      {open.value === 'revoke' && (
        <Confirm title={`Revoke “${apiKey.name}”?`} action='Revoke key' onClose={close} onConfirm={revoke}>
          Calls with this key fail from now on. This cannot be undone.
        </Confirm>
      )}
    </>
  )
}

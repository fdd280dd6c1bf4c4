// SPDX-License-Identifier: Apache-2.0
// llama-server's POST /slots/N?action=save|restore|erase: keys and values of a slot's last answer
// in a file. A slot here is a name for the tokens of the last answer that asked for it with
// "id_slot"; what is restored lies in the prefix cache, where any request finds it. Handlers run on
// a reader's thread.
#pragma once

#include <memory>

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

[[nodiscard]] Result<void> SlotAction(Service* service, const ApiRequest& request,
                                      const std::shared_ptr<Exchange>& exchange);

}  // namespace bittern::serve

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bittern::node {

/// Keeps the addon in memory until the process ends, since threads of the library may outlive the
/// worker that has loaded it. A call that fails changes nothing: a system that cannot do it does
/// not unload either (musl). Any thread.
void StayLoaded() noexcept;

}  // namespace bittern::node

<?php

namespace App\Models;

use App\Base;

/**
 * A user.
 */
class User extends Base
{
    protected string $name = 'x';

    public function name(): string
    {
        return $this->name;
    }
}

interface Named
{
    public function name(): string;
}

function greet(User $user): string
{
    return 'Hello ' . $user->name();
}
